package main

import (
	"context"
	"errors"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

type franzAdmin struct {
	*kadm.Client
	requests *kgo.Client
}

func newFranz(bootstrap string) (admin, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap))
	if err != nil {
		return nil, err
	}
	return franzAdmin{kadm.NewClient(client), client}, nil
}

func (client franzAdmin) cluster() ([]int32, int32, error) {
	metadata, err := client.BrokerMetadata(context.Background())
	return metadata.Brokers.NodeIDs(), metadata.Controller, err
}

// kadm's CreateTopics has no replica lists, so this function builds the request.
func (client franzAdmin) create(topic string, replicas []int32) error {
	request := kmsg.NewPtrCreateTopicsRequest()
	row := kmsg.NewCreateTopicsRequestTopic()
	row.Topic, row.NumPartitions, row.ReplicationFactor = topic, -1, -1
	assignment := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
	assignment.Replicas = replicas
	row.ReplicaAssignment = append(row.ReplicaAssignment, assignment)
	request.Topics = append(request.Topics, row)
	response, err := request.RequestWith(context.Background(), client.requests)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(response.Topics[0].ErrorCode)
}

func (client franzAdmin) replicas(topic string) ([]int32, error) {
	topics, err := client.ListTopics(context.Background(), topic)
	if err != nil {
		return nil, err
	}
	if topics[topic].Err != nil {
		return nil, topics[topic].Err
	}
	return topics[topic].Partitions[0].Replicas, nil
}

func (client franzAdmin) setRetention(topic, value string) error {
	change := []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "retention.ms", Value: &value}}
	changed, err := client.AlterTopicConfigs(context.Background(), change, topic)
	if err != nil {
		return err
	}
	return changed[0].Err
}

func (client franzAdmin) retention(topic string) (string, error) {
	described, err := client.DescribeTopicConfigs(context.Background(), topic)
	if err != nil || described[0].Err != nil {
		return "", errors.Join(err, described[0].Err)
	}
	for _, config := range described[0].Configs {
		if config.Key == "retention.ms" {
			return config.MaybeValue(), nil
		}
	}
	return "", nil
}

func (client franzAdmin) move(topic string, replicas []int32) (int16, error) {
	var request kadm.AlterPartitionAssignmentsReq
	if replicas == nil {
		request.CancelAssign(topic, 0)
	} else {
		request.Assign(topic, 0, replicas)
	}
	moves, err := client.AlterPartitionAssignments(context.Background(), request)
	if err != nil {
		return 0, err
	}
	var code *kerr.Error
	if errors.As(moves[topic][0].Err, &code) {
		return code.Code, nil
	}
	return 0, nil
}

func (client franzAdmin) moving(topic string) (bool, error) {
	var topics kadm.TopicsSet
	topics.Add(topic, 0)
	listed, err := client.ListPartitionReassignments(context.Background(), topics)
	return len(listed[topic]) > 0, err
}

func (client franzAdmin) remove(topic string) error {
	_, err := client.DeleteTopic(context.Background(), topic)
	return err
}

func (client franzAdmin) close() {
	client.Close()
}
