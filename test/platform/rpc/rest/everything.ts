import type { DescMessage, FileRegistry } from '@bufbuild/protobuf'
import { compileSchema, messageOf } from './schema.ts'

const source = `
syntax = "proto3";
package test;
import "rest/v1/rest.proto";
import "google/protobuf/any.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/empty.proto";
import "google/protobuf/field_mask.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
import "legacy.proto";

enum State {
  STATE_UNSPECIFIED = 0;
  STATE_OPEN = 1 [(rest.v1.enum_value).text = "open"];
  STATE_CLOSED = 2;
}

message Leaf {
  string id = 1;
  int32 count = 2;
  Leaf leaf = 3;
}

message Everything {
  string a_string = 1;
  bool a_bool = 2;
  bytes a_bytes = 3;
  float a_float = 4;
  double a_double = 5;
  int32 an_int32 = 6;
  sint32 a_sint32 = 7;
  sfixed32 a_sfixed32 = 8;
  uint32 a_uint32 = 9;
  fixed32 a_fixed32 = 10;
  int64 an_int64 = 11;
  sint64 a_sint64 = 12;
  sfixed64 a_sfixed64 = 13;
  uint64 a_uint64 = 14;
  fixed64 a_fixed64 = 15;
  int64 text_int64 = 16 [jstype = JS_STRING];
  State state = 17;
  string renamed = 18 [json_name = "other-name"];

  optional string maybe_string = 20;
  optional int32 maybe_int32 = 21;
  optional State maybe_state = 22;

  Leaf leaf = 30;
  Everything self = 31;
  google.protobuf.Empty empty = 32;
  test.Legacy legacy = 33;

  google.protobuf.Timestamp timestamp = 40;
  google.protobuf.Duration duration = 41;
  google.protobuf.FieldMask mask = 42;
  google.protobuf.Struct struct = 43;
  google.protobuf.Value value = 44;
  google.protobuf.ListValue list_value = 45;
  google.protobuf.Any any = 46;
  google.protobuf.NullValue null_value = 47;

  google.protobuf.StringValue string_value = 50;
  google.protobuf.BytesValue bytes_value = 51;
  google.protobuf.BoolValue bool_value = 52;
  google.protobuf.DoubleValue double_value = 53;
  google.protobuf.Int32Value int32_value = 54;
  google.protobuf.Int64Value int64_value = 55;
  google.protobuf.UInt64Value uint64_value = 56;

  repeated string strings = 60;
  repeated int64 int64s = 61;
  repeated State states = 62;
  repeated Leaf leaves = 63;
  repeated google.protobuf.Timestamp timestamps = 64;
  repeated google.protobuf.Int64Value int64_values = 65;
  repeated google.protobuf.Struct structs = 66;
  repeated google.protobuf.Value values = 67;
  repeated bytes chunks = 68;
  repeated google.protobuf.FieldMask masks = 69;

  map<string, string> by_string = 70;
  map<int32, Leaf> by_int32 = 71;
  map<bool, State> by_bool = 72;
  map<uint64, google.protobuf.Duration> by_uint64 = 73;
  map<string, google.protobuf.Value> value_by_string = 74;

  oneof choice {
    string choice_string = 80;
    int64 choice_int64 = 81;
    Leaf choice_leaf = 82;
    Leaf other_leaf = 83;
    google.protobuf.StringValue choice_wrapper = 84;
    google.protobuf.Struct choice_struct = 85;
    State choice_state = 86;
    google.protobuf.NullValue choice_null = 87;
  }

  // The number, not the place in the file, decides where a member is printed.
  string early = 19;
}

message Hostile {
  string __proto__ = 1;
  string constructor = 2;
  Hostile prototype = 3;
  string toString = 4;
}

message Overrides {
  string printed = 1 [(rest.v1.field).unset = DEFAULT];
  string nulled = 2 [(rest.v1.field).unset = NULL];
  string omitted = 3 [(rest.v1.field).unset = OMIT];
  repeated string list = 4 [(rest.v1.field).unset = DEFAULT];
  map<string, string> map = 5 [(rest.v1.field).unset = DEFAULT];
  Overrides self = 6 [(rest.v1.field).unset = DEFAULT];
  google.protobuf.Timestamp time = 7 [(rest.v1.field).unset = NULL];
  google.protobuf.Int64Value wrapper = 8 [(rest.v1.field).unset = DEFAULT];
  google.protobuf.Duration duration = 9 [(rest.v1.field).unset = DEFAULT];
  State state = 10 [(rest.v1.field).unset = DEFAULT];
  optional int64 maybe = 11 [(rest.v1.field).unset = DEFAULT];
}
`

const legacySource = `
syntax = "proto2";
package test;

enum Closed { CLOSED_ONE = 1; CLOSED_TWO = 2; }

message Legacy {
  optional int32 level = 1 [default = 7];
  optional Closed closed = 2;
  optional group Detail = 3 { optional string text = 1; }
  repeated Closed list = 4;
}

message Strict { required string id = 1; }
`

/** A schema with a field of every kind that JSON, paths and queries treat in their own way. */
export const everythingSources = { 'test.proto': source, 'legacy.proto': legacySource }

export const registry: FileRegistry = compileSchema(everythingSources)

/** The message with a field of every kind. */
export const everything: DescMessage = messageOf(registry, 'test.Everything')
