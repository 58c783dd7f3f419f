// Runs quamina on rules and events from files: RULES EVENTS SECONDS. Prints its figures as JSON.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"quamina.net/go/quamina/v2"
)

// firstPass is how many seconds the first pass may take at least: few events compare little.
const firstPass = 5.0

type answer struct {
	Version      string    `json:"version"`
	BuildSeconds float64   `json:"build_seconds"`
	MemoryBytes  uint64    `json:"memory_bytes"`
	Counts       []int     `json:"counts"`
	Rates        []float64 `json:"rates"`
	WallRates    []float64 `json:"wall_rates"`
}

func main() {
	runtime.GOMAXPROCS(1)
	rules, events := lines(os.Args[1]), lines(os.Args[2])
	seconds, err := strconv.ParseFloat(os.Args[3], 64)
	check(err)

	before := used()
	began := now()
	matcher, err := quamina.New()
	check(err)
	for _, line := range rules {
		id, pattern, _ := bytes.Cut(line, []byte("\t"))
		check(matcher.AddPattern(string(id), string(pattern)))
	}
	figures := answer{Version: version(), BuildSeconds: began.passed().cpu}
	if after := used(); after > before {
		figures.MemoryBytes = after - before
	}

	began = now()
	for _, event := range events {
		found, err := matcher.MatchesForEvent(event)
		check(err)
		figures.Counts = append(figures.Counts, len(found))
		if began.passed().wall > max(seconds, firstPass) {
			break
		}
	}
	var timings []clocks
	for start := now(); len(timings) == 0 || start.passed().wall < seconds; {
		began = now()
		rounds := 0.0
		for rounds == 0 || began.passed().wall < seconds/10 {
			for _, event := range events[:len(figures.Counts)] {
				_, err := matcher.MatchesForEvent(event)
				check(err)
			}
			rounds++
		}
		took := began.passed()
		timings = append(timings, clocks{took.cpu / rounds, took.wall / rounds})
	}
	for _, each := range timings {
		figures.Rates = append(figures.Rates, float64(len(figures.Counts))/max(each.cpu, 1e-6))
		figures.WallRates = append(figures.WallRates, float64(len(figures.Counts))/max(each.wall, 1e-6))
	}
	check(json.NewEncoder(os.Stdout).Encode(figures))
}

// clocks holds seconds of this process's processor time and seconds on the wall.
type clocks struct{ cpu, wall float64 }

func now() clocks {
	var usage syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	cpu := time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	return clocks{cpu.Seconds(), float64(time.Now().UnixNano()) / 1e9}
}

func (began clocks) passed() clocks {
	at := now()
	return clocks{at.cpu - began.cpu, at.wall - began.wall}
}

func used() uint64 {
	runtime.GC()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return memory.HeapAlloc
}

func lines(name string) [][]byte {
	file, err := os.Open(name)
	check(err)
	defer file.Close()
	var found [][]byte
	scanner := bufio.NewScanner(file)
	scanner.Buffer(make([]byte, 1<<20), 1<<26)
	for scanner.Scan() {
		found = append(found, bytes.Clone(scanner.Bytes()))
	}
	check(scanner.Err())
	return found
}

func version() string {
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		if strings.HasPrefix(module.Path, "quamina.net/") {
			return strings.TrimPrefix(module.Version, "v")
		}
	}
	return "unknown"
}

func check(err error) {
	if err != nil {
		log.Fatal(fmt.Errorf("quamina: %w", err))
	}
}
