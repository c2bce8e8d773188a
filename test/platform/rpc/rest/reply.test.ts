import { create, createRegistry } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import { compileContent } from '../../../../src/platform/rpc/rest/reply.ts'
import { bindingsOf } from '../../../../src/platform/rpc/rest/schema/rules.ts'
import { compileSchema, messageOf, methodOf, serviceOf } from './schema.ts'

const schema = compileSchema(`
  syntax = "proto3";
  package shelves.v1;
  import "rest/v1/rest.proto";
  import "google/api/annotations.proto";
  service Shelves {
    rpc Look(Request) returns (Response) {
      option (google.api.http) = { get: "/shelves" response_body: "books" };
      option (rest.v1.method) = { single_body: "book" };
    }
    rpc Missing(Request) returns (Response) {
      option (google.api.http) = { get: "/shelves" response_body: "books" };
      option (rest.v1.method) = { single_body: "nothing" };
    }
    rpc List(Request) returns (Response) {
      option (google.api.http) = { get: "/shelves" response_body: "book" };
      option (rest.v1.method) = { single_body: "books" };
    }
    rpc Whole(Request) returns (Response) {
      option (google.api.http) = { get: "/shelves" };
      option (rest.v1.method) = { single_body: "book" };
    }
  }
  message Request {}
  message Response { Book book = 1; repeated Book books = 2; }
  message Book { string title = 1; }
`)
const shelves = serviceOf(schema, 'shelves.v1.Shelves')
const response = messageOf(schema, 'shelves.v1.Response')

describe('a single body', () => {
  it('replaces the list when it is set', async () => {
    const [binding] = bindingsOf(methodOf(shelves, 'Look')).bindings
    if (!binding) throw new Error('the method has no binding')
    const contentOf = compileContent(binding, createRegistry())
    const { signal } = new AbortController()
    const bodyOf = async (init: Record<string, unknown>) =>
      (await contentOf(create(response, init), { signal })).body
    const book = { title: 'Solaris' }
    expect(await bodyOf({ books: [book] })).toBe('[{"title":"Solaris"}]')
    expect(await bodyOf({ book, books: [book] })).toBe('{"title":"Solaris"}')
    expect(await bodyOf({})).toBe('[]')
  })

  it.each([
    ['Missing', '(rest.v1.method): single_body: "nothing" is not a field of shelves.v1.Response'],
    ['List', '(rest.v1.method): single_body: books is not a singular message'],
    ['Whole', '(google.api.http): GET /shelves: response_body: single_body takes the place of one'],
  ])('must be a message in addition to a response body: %s is rejected', (name, text) => {
    expect(bindingsOf(methodOf(shelves, name)).problems).toEqual([
      `shelves.v1.Shelves/${name}: ${text}`,
    ])
  })
})
