import { describe, expect, it } from 'vitest'
import { bindingsOf } from '../../../../../src/platform/rpc/rest/schema/rules.ts'
import { compileSchema, methodOf, serviceOf } from '../schema.ts'

const schema = compileSchema(`
  syntax = "proto3";
  package shelves.v1;
  import "rest/v1/rest.proto";
  import "google/api/annotations.proto";
  import "google/protobuf/empty.proto";
  service Shelves {
    option (rest.v1.dialect) = { empty_status: 204 };
    rpc Put(Request) returns (Response) {
      option (google.api.http) = { put: "/shelves" };
      option (rest.v1.method) = { no_content: true };
    }
    rpc Look(Request) returns (Response) {
      option (google.api.http) = { get: "/shelves" };
    }
    rpc Burn(Request) returns (google.protobuf.Empty) {
      option (google.api.http) = { delete: "/shelves" };
      option (rest.v1.method) = { success_status: 200, other_success_statuses: [202] };
    }
    rpc Break(Request) returns (Response) {
      option (google.api.http) = { post: "/shelves" };
      option (rest.v1.method) = { other_success_statuses: [201, 404] };
    }
    rpc Watch(Request) returns (stream Response) {
      option (google.api.http) = { get: "/shelves:watch" };
      option (rest.v1.method) = { no_content: true };
    }
  }
  message Request {}
  message Response { bool moved = 1; }
`)
const shelves = serviceOf(schema, 'shelves.v1.Shelves')

describe('responses without content', () => {
  it.each([
    ['Put', 200, true],
    ['Look', 200, false],
    ['Burn', 200, true],
  ])('%s', (name, successStatus, isBodiless) => {
    const { bindings, problems } = bindingsOf(methodOf(shelves, name))
    expect(problems).toEqual([])
    expect(bindings).toMatchObject([{ successStatus, isBodiless }])
  })

  it('are rejected for a stream', () => {
    expect(bindingsOf(methodOf(shelves, 'Watch')).problems).toEqual([
      'shelves.v1.Shelves/Watch: (rest.v1.method): no_content: a stream has content',
    ])
  })
})

describe('other statuses of success', () => {
  it('are from 200 to 399', () => {
    expect(bindingsOf(methodOf(shelves, 'Break')).problems).toEqual([
      'shelves.v1.Shelves/Break: (rest.v1.method): other_success_statuses: 404 is not a status from 200 to 399',
    ])
  })
})
