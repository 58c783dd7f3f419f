// Prints what brokers know of transactions, and where partitions end: for readers of committed records, and at all.
// java -cp 'JARS/*' Transactions.java BOOTSTRAP TOPIC...

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListOffsetsOptions;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.TopicPartition;

public class Transactions {
  public static void main(String[] arguments) throws Exception {
    List<String> topics = Arrays.asList(arguments).subList(1, arguments.length);
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", (Object) arguments[0]))) {
      List<String> ids = new ArrayList<>();
      admin.listTransactions().all().get().forEach(each -> ids.add(each.transactionalId()));
      admin.describeTransactions(ids).all().get().forEach((id, state) -> System.out.println(id + ": " + state));
      List<TopicPartition> places = new ArrayList<>();
      admin.describeTopics(topics).allTopicNames().get().forEach((name, topic) -> topic.partitions()
          .forEach(each -> places.add(new TopicPartition(name, each.partition()))));
      admin.describeProducers(places).all().get().forEach((place, state) -> state.activeProducers().stream()
          .filter(each -> each.currentTransactionStartOffset().isPresent())
          .forEach(each -> System.out.println(place + " is held by " + each)));
      var committed = ends(admin, places, IsolationLevel.READ_COMMITTED);
      var all = ends(admin, places, IsolationLevel.READ_UNCOMMITTED);
      places.forEach(each -> System.out.println(
          each + ": committed up to " + committed.get(each) + ", written up to " + all.get(each)));
    }
  }

  private static Map<TopicPartition, Long> ends(
      Admin admin, Collection<TopicPartition> places, IsolationLevel level) throws Exception {
    Map<TopicPartition, OffsetSpec> latest =
        places.stream().collect(Collectors.toMap(Function.identity(), each -> OffsetSpec.latest()));
    return admin.listOffsets(latest, new ListOffsetsOptions(level)).all().get().entrySet().stream()
        .collect(Collectors.toMap(Map.Entry::getKey, each -> each.getValue().offset()));
  }
}
