package main

import (
	"context"
	"errors"

	"github.com/segmentio/kafka-go"
)

type segmentAdmin struct {
	*kafka.Client
}

func newSegment(bootstrap string) (admin, error) {
	return segmentAdmin{&kafka.Client{Addr: kafka.TCP(bootstrap), Timeout: patience}}, nil
}

func (client segmentAdmin) cluster() ([]int32, int32, error) {
	metadata, err := client.Metadata(context.Background(), &kafka.MetadataRequest{})
	if err != nil {
		return nil, 0, err
	}
	var ids []int32
	for _, broker := range metadata.Brokers {
		ids = append(ids, int32(broker.ID))
	}
	return ids, int32(metadata.Controller.ID), nil
}

func (client segmentAdmin) create(topic string, replicas []int32) error {
	request := &kafka.CreateTopicsRequest{Topics: []kafka.TopicConfig{{
		Topic: topic, NumPartitions: -1, ReplicationFactor: -1,
		ReplicaAssignments: []kafka.ReplicaAssignment{{Partition: 0, Replicas: wide(replicas)}},
	}}}
	response, err := client.CreateTopics(context.Background(), request)
	if err != nil {
		return err
	}
	return response.Errors[topic]
}

func (client segmentAdmin) replicas(topic string) ([]int32, error) {
	metadata, err := client.Metadata(context.Background(), &kafka.MetadataRequest{Topics: []string{topic}})
	if err != nil {
		return nil, err
	}
	if metadata.Topics[0].Error != nil || len(metadata.Topics[0].Partitions) == 0 {
		return nil, errors.Join(errors.New("the topic is not known yet"), metadata.Topics[0].Error)
	}
	var ids []int32
	for _, broker := range metadata.Topics[0].Partitions[0].Replicas {
		ids = append(ids, int32(broker.ID))
	}
	return ids, nil
}

func (client segmentAdmin) setRetention(topic, value string) error {
	request := &kafka.IncrementalAlterConfigsRequest{Resources: []kafka.IncrementalAlterConfigsRequestResource{{
		ResourceType: kafka.ResourceTypeTopic, ResourceName: topic,
		Configs: []kafka.IncrementalAlterConfigsRequestConfig{{
			Name: "retention.ms", Value: value, ConfigOperation: kafka.ConfigOperationSet,
		}},
	}}}
	response, err := client.IncrementalAlterConfigs(context.Background(), request)
	if err != nil {
		return err
	}
	return response.Resources[0].Error
}

func (client segmentAdmin) retention(topic string) (string, error) {
	request := &kafka.DescribeConfigsRequest{Resources: []kafka.DescribeConfigRequestResource{{
		ResourceType: kafka.ResourceTypeTopic, ResourceName: topic, ConfigNames: []string{"retention.ms"},
	}}}
	response, err := client.DescribeConfigs(context.Background(), request)
	if err != nil || len(response.Resources[0].ConfigEntries) == 0 {
		return "", err
	}
	return response.Resources[0].ConfigEntries[0].ConfigValue, nil
}

func (client segmentAdmin) move(topic string, replicas []int32) (int16, error) {
	request := &kafka.AlterPartitionReassignmentsRequest{Topic: topic, Timeout: patience,
		Assignments: []kafka.AlterPartitionReassignmentsRequestAssignment{{PartitionID: 0, BrokerIDs: wide(replicas)}},
	}
	response, err := client.AlterPartitionReassignments(context.Background(), request)
	if err != nil {
		return 0, err
	}
	var code kafka.Error
	if errors.As(response.PartitionResults[0].Error, &code) {
		return int16(code), nil
	}
	return 0, nil
}

func (client segmentAdmin) moving(topic string) (bool, error) {
	request := &kafka.ListPartitionReassignmentsRequest{
		Topics:  map[string]kafka.ListPartitionReassignmentsRequestTopic{topic: {PartitionIndexes: []int{0}}},
		Timeout: patience,
	}
	response, err := client.ListPartitionReassignments(context.Background(), request)
	if err != nil {
		return false, err
	}
	return len(response.Topics[topic].Partitions) > 0, nil
}

func (client segmentAdmin) remove(topic string) error {
	response, err := client.DeleteTopics(context.Background(), &kafka.DeleteTopicsRequest{Topics: []string{topic}})
	if err != nil {
		return err
	}
	return response.Errors[topic]
}

func (client segmentAdmin) close() {}

func wide(ids []int32) []int {
	var found []int
	for _, id := range ids {
		found = append(found, int(id))
	}
	return found
}
