package reassignd

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

func TestMovePartition(t *testing.T) {
	cluster := Start(t, 3, "--override", "embedded.partition.bytes=1000")
	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.Addresses...))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	admin, ctx := kadm.NewClient(client), context.Background()
	if _, err := admin.CreateTopic(ctx, 1, 2, nil, "orders"); err != nil {
		t.Fatal(err)
	}

	var plan kadm.AlterPartitionAssignmentsReq
	target := []int32{3, 2}
	plan.Assign("orders", 0, target)
	if answers, err := admin.AlterPartitionAssignments(ctx, plan); err != nil || answers.Error() != nil {
		t.Fatal(err, answers.Error())
	}

	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		topics, err := admin.ListTopics(ctx, "orders")
		if err != nil {
			t.Fatal(err)
		}
		if slices.Equal(topics["orders"].Partitions[0].Replicas, target) {
			return
		}
	}
	t.Fatal("the partition has not moved within a minute")
}
