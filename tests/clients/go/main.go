// The steps of AdminTour.java with Go's Kafka clients: tour CLIENT BOOTSTRAP TOPIC FROM TO.
//
// Prints one line for each step. FROM and TO are replica lists such as 1,2.
package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

const patience = 30 * time.Second

type admin interface {
	cluster() (brokers []int32, controller int32, err error)
	create(topic string, replicas []int32) error
	replicas(topic string) ([]int32, error)
	setRetention(topic, value string) error
	retention(topic string) (string, error)
	// move reassigns partition 0, or cancels if the replicas are nil; it returns the error code of the row.
	move(topic string, replicas []int32) (code int16, err error)
	moving(topic string) (bool, error)
	remove(topic string) error
	close()
}

var clients = map[string]func(bootstrap string) (admin, error){
	"sarama":   newSarama,
	"franz-go": newFranz,
	"kafka-go": newSegment,
}

func main() {
	if os.Args[1] == "login" {
		runLogin(os.Args[2:])
		return
	}
	client, err := clients[os.Args[1]](os.Args[2])
	check(err)
	defer client.close()
	tour(client, os.Args[3], ids(os.Args[4]), ids(os.Args[5]))
}

func tour(client admin, topic string, from, to []int32) {
	brokers, controller, err := client.cluster()
	check(err)
	slices.Sort(brokers)
	fmt.Println("brokers", list(brokers))
	fmt.Println("controller listed", slices.Contains(brokers, controller))

	check(client.create(topic, from))
	fmt.Println("created", list(await(client.replicas, topic, func(seen []int32) bool { return seen != nil })))

	check(client.setRetention(topic, "12345"))
	fmt.Println("retention", await(client.retention, topic, func(seen string) bool { return seen == "12345" }))

	code, err := client.move(topic, to)
	check(err)
	if code != 0 {
		check(fmt.Errorf("the move was refused with error %d", code))
	}
	await(client.moving, topic, func(seen bool) bool { return !seen })
	moved := await(client.replicas, topic, func(seen []int32) bool { return slices.Equal(seen, to) })
	fmt.Println("moved", list(moved))

	code, err = client.move(topic, nil)
	check(err)
	fmt.Println("nothing to cancel", code)
	code, err = client.move(topic, []int32{77})
	check(err)
	fmt.Println("broker 77", code)
	check(client.remove(topic))
	fmt.Println("deleted")
}

// await repeats the request until the answer is accepted or the time is over, and returns the last answer.
// A broker may learn of a change late.
func await[T any](ask func(string) (T, error), topic string, wanted func(T) bool) T {
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		seen, err := ask(topic)
		if err == nil && wanted(seen) {
			return seen
		}
		if time.Now().After(deadline) {
			check(err)
			return seen
		}
	}
}

func ids(text string) []int32 {
	var found []int32
	for _, part := range strings.Split(text, ",") {
		id, err := strconv.ParseInt(part, 10, 32)
		check(err)
		found = append(found, int32(id))
	}
	return found
}

func list(ids []int32) string {
	return strings.ReplaceAll(fmt.Sprint(ids), " ", ", ")
}

func check(err error) {
	if err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
}
