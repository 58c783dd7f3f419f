import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import software.amazon.event.ruler.Machine;

/** Runs event-ruler on rules and events from files: RULES EVENTS SECONDS. Prints its figures as JSON. */
public final class RulerPeer {
    private static final OperatingSystemMXBean SYSTEM =
            (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    /** Seconds that the first pass may take at least: cold code is slow, and few events compare little. */
    private static final double FIRST_PASS = 5;

    public static void main(String[] arguments) throws Exception {
        List<String> rules = Files.readAllLines(Path.of(arguments[0]), StandardCharsets.UTF_8);
        List<String> events = Files.readAllLines(Path.of(arguments[1]), StandardCharsets.UTF_8);
        double seconds = Double.parseDouble(arguments[2]);

        long before = used();
        double[] began = clocks();
        Machine machine = new Machine();
        for (String line : rules) {
            int tab = line.indexOf('\t');
            machine.addRule(line.substring(0, tab), line.substring(tab + 1));
        }
        double build = clocks()[0] - began[0];
        long memory = used() - before;

        began = clocks();
        List<Integer> counts = new ArrayList<>();
        for (String event : events) {
            counts.add(machine.rulesForJSONEvent(event).size());
            if (clocks()[1] - began[1] > Math.max(seconds, FIRST_PASS)) {
                break;
            }
        }
        // The code is compiled while it runs, so the first pass alone doesn't warm it up.
        while (clocks()[0] - began[0] < seconds) {
            for (int number = 0; number < counts.size(); number++) {
                machine.rulesForJSONEvent(events.get(number));
            }
        }
        List<double[]> timings = new ArrayList<>();
        double[] start = clocks();
        while (timings.isEmpty() || clocks()[1] - start[1] < seconds) {
            began = clocks();
            long found = 0;
            int rounds = 0;
            while (rounds == 0 || clocks()[1] - began[1] < seconds / 10) {
                for (int number = 0; number < counts.size(); number++) {
                    found += machine.rulesForJSONEvent(events.get(number)).size();
                }
                rounds++;
            }
            double[] took = since(began);
            timings.add(new double[] {took[0] / rounds, took[1] / rounds});
            if (found != rounds * counts.stream().mapToLong(Integer::longValue).sum()) {
                throw new IllegalStateException("two rounds found different matches");
            }
        }
        System.out.printf(
                "{\"version\": \"%s\", \"build_seconds\": %s, \"memory_bytes\": %d, \"counts\": %s,"
                        + " \"rates\": %s, \"wall_rates\": %s}%n",
                version(), build, Math.max(0, memory), counts, rates(counts.size(), timings, 0),
                rates(counts.size(), timings, 1));
    }

    private static String rates(int events, List<double[]> timings, int clock) {
        return timings.stream()
                .map(each -> Double.toString(events / Math.max(each[clock], 1e-6)))
                .collect(Collectors.joining(", ", "[", "]"));
    }

    /** Seconds of this process's processor time, all of its threads, and seconds on the wall. */
    private static double[] clocks() {
        return new double[] {SYSTEM.getProcessCpuTime() / 1e9, System.nanoTime() / 1e9};
    }

    private static double[] since(double[] began) {
        double[] now = clocks();
        return new double[] {now[0] - began[0], now[1] - began[1]};
    }

    private static long used() {
        System.gc();
        return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
    }

    private static String version() {
        String jar = Machine.class.getProtectionDomain().getCodeSource().getLocation().getPath();
        return jar.replaceAll(".*event-ruler-(.*)\\.jar", "$1");
    }
}
