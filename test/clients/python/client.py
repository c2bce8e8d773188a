"""Calls a server with grpcio and messages made from descriptors, without generated code.

Arguments: target, descriptor set, and the certificate to trust for TLS or nothing.
Standard input: a JSON list of calls {method, request, metadata}. Standard output: a JSON list of outcomes.
"""

import json
import sys

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory


def load(path):
    files = descriptor_pb2.FileDescriptorSet()
    with open(path, "rb") as descriptor_set:
        files.ParseFromString(descriptor_set.read())
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    return pool


def message_class(pool, descriptor):
    # protobuf 4.22 replaced the factory object by a function.
    if hasattr(message_factory, "GetMessageClass"):
        return message_factory.GetMessageClass(descriptor)
    return message_factory.MessageFactory(pool).GetPrototype(descriptor)


def details_of(pool, error):
    for key, value in error.trailing_metadata() or ():
        if key == "grpc-status-details-bin":
            status = message_class(pool, pool.FindMessageTypeByName("google.rpc.Status"))()
            status.ParseFromString(value)
            return [json_format.MessageToDict(detail, descriptor_pool=pool) for detail in status.details]
    return []


def call(pool, channel, method, request, metadata):
    service, name = method.split("/")
    descriptor = pool.FindServiceByName(service).FindMethodByName(name)
    request_class = message_class(pool, descriptor.input_type)
    response_class = message_class(pool, descriptor.output_type)
    stub = channel.unary_unary(
        "/" + method,
        request_serializer=request_class.SerializeToString,
        response_deserializer=response_class.FromString,
    )
    try:
        message = json_format.ParseDict(request, request_class())
        response = stub(message, metadata=list(metadata.items()), timeout=20)
        return {"message": json_format.MessageToDict(response)}
    except grpc.RpcError as error:
        return {"code": error.code().name, "text": error.details(), "details": details_of(pool, error)}


def main():
    target, descriptor_set, *certificate = sys.argv[1:]
    pool = load(descriptor_set)
    if certificate:
        with open(certificate[0], "rb") as pem:
            channel = grpc.secure_channel(target, grpc.ssl_channel_credentials(pem.read()))
    else:
        channel = grpc.insecure_channel(target)
    with channel:
        outcomes = [call(pool, channel, **one) for one in json.load(sys.stdin)]
    json.dump(outcomes, sys.stdout)


main()
