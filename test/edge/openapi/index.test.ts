import { Validator } from '@seriousme/openapi-schema-validator'
import { describe, expect, it } from 'vitest'
import { createOpenApi, type OpenApiDocument } from '../../../src/edge/openapi/index.ts'
import { bindingsOf } from '../../../src/platform/rpc/index.ts'
import { compileSchema, serviceOf } from '../../platform/rpc/rest/schema.ts'

/** What Branchline's own schema does not have, or not yet. */
const registry = compileSchema(`
  syntax = "proto3";
  package test;
  import "rest/v1/rest.proto";
  import "google/api/annotations.proto";
  import "google/api/httpbody.proto";
  import "google/protobuf/any.proto";
  import "google/protobuf/duration.proto";
  import "google/protobuf/empty.proto";
  import "google/protobuf/field_mask.proto";
  import "google/protobuf/struct.proto";
  import "google/protobuf/wrappers.proto";

  service Standard {
    rpc Watch(Query) returns (stream Thing) { option (google.api.http) = {get: "/things/{inner.id}:watch"}; }
    rpc Upload(File) returns (google.protobuf.Empty) {
      option (google.api.http) = {put: "/files/{path=**}" body: "content"};
      option (rest.v1.method) = {success_status: 204};
    }
    rpc Old(Thing) returns (Thing) {
      option deprecated = true;
      option (google.api.http) = {
        post: "/old" body: "*"
        additional_bindings {custom {kind: "HEAD" path: "/old"}}
        additional_bindings {put: "/older" body: "*"}
      };
    }
  }
  service Forge {
    option (rest.v1.dialect) = {
      names: ORIGINAL int64: NUMBER scalars: DEFAULT lists: NULL messages: NULL
      errors: MESSAGE_URL content_type: "application/json;charset=utf-8"
    };
    rpc List(Query) returns (Things) {
      option (google.api.http) = {get: "/things" response_body: "things"};
      option (rest.v1.method) = {
        page {total: "total" page: "page" limit: "limit"}
        headers {name: "X-Oldest" field: "oldest_id"}
      };
    }
  }
  message Query {
    Inner inner = 1;
    repeated Color colors = 2;
    int64 since_id = 3;
    google.protobuf.FieldMask mask = 4;
    google.protobuf.Struct unfit = 5;
    map<string, string> unfit_too = 6;
    int32 page = 7;
    int32 limit = 8;
  }
  message Inner { int64 id = 1; string text = 2; Inner again = 3; }
  message File { string path = 1; google.api.HttpBody content = 2; bool force = 3; }
  message Things { repeated Thing things = 1; int32 total = 2; string oldest_id = 3; }
  enum Color { COLOR_UNSPECIFIED = 0; RED = 1 [(rest.v1.enum_value) = {text: "red"}]; }
  message Thing {
    int64 big_number = 1;
    uint32 small_number = 2;
    double ratio = 3;
    bytes data = 4;
    Color color = 5;
    map<string, Thing> parts = 6;
    google.protobuf.Duration age = 7;
    google.protobuf.Int64Value count = 8;
    google.protobuf.Struct extra = 9;
    google.protobuf.Value any_json = 10;
    google.protobuf.ListValue list = 11;
    google.protobuf.Any any = 12;
    optional string note = 13 [deprecated = true];
    repeated string tags = 14;
  }
`)

function documentOf(...services: string[]): OpenApiDocument {
  const methods = services.flatMap((name) => serviceOf(registry, name).methods)
  return createOpenApi(
    methods.flatMap((method) => bindingsOf(method).bindings),
    {
      comments: new Map(),
      failures: new Map(),
      statusOf: () => undefined,
      title: 't',
      version: '1',
      publicUrl: '',
      isPrivateInstance: false,
    },
  )
}

const standard = documentOf('test.Standard')
const forge = documentOf('test.Forge')

it('documents of any schema are valid', async () => {
  const { errors } = await new Validator().validate(
    JSON.parse(JSON.stringify(documentOf('test.Standard', 'test.Forge'))),
  )
  expect(errors).toBeUndefined()
})

describe('parameters', () => {
  const { parameters } = standard.paths['/things/{inner_id}:watch']?.get ?? {}

  it('are the fields with a text form that neither path nor body sets, with dots for nested fields', () => {
    expect(parameters?.map(({ name }) => name)).toEqual([
      'inner_id',
      'inner.text',
      'colors',
      'sinceId',
      'mask',
      'page',
      'limit',
    ])
  })

  it('are numbers where JSON has strings', () => {
    expect(parameters?.find(({ name }) => name === 'inner_id')?.schema).toEqual({
      type: 'integer',
      format: 'int64',
    })
    expect(parameters?.find(({ name }) => name === 'sinceId')?.schema).toEqual({
      type: 'integer',
      format: 'int64',
    })
  })

  it('repeat for lists', () => {
    expect(parameters?.find(({ name }) => name === 'colors')).toEqual({
      name: 'colors',
      in: 'query',
      schema: { type: 'array', items: { $ref: '#/components/schemas/test.Color' } },
      style: 'form',
      explode: true,
    })
  })
})

describe('content', () => {
  it('of streams is one value per line or event', () => {
    const schema = { $ref: '#/components/schemas/test.Thing' }
    expect(standard.paths['/things/{inner_id}:watch']?.get?.responses['200']?.content).toEqual({
      'application/x-ndjson': { schema },
      'text/event-stream': { schema },
    })
  })

  it('of uploads is bytes, and a 204 has none', () => {
    const { put } = standard.paths['/files/{path}'] ?? {}
    expect(put?.requestBody).toEqual({ content: { '*/*': {} } })
    expect(put?.parameters?.map(({ name, in: place }) => [name, place])).toEqual([
      ['path', 'path'],
      ['force', 'query'],
    ])
    expect(put?.responses['204']).toEqual({ description: 'No Content' })
  })

  it('is the field of response_body, with headers from other fields', () => {
    expect(forge.paths['/things']?.get?.responses['200']).toEqual({
      description: 'OK',
      headers: {
        'X-Oldest': { schema: { type: 'string' } },
        'X-Total-Count': { description: expect.any(String), schema: { type: 'integer' } },
        Link: { description: expect.any(String), schema: { type: 'string' } },
      },
      content: {
        'application/json;charset=utf-8': {
          schema: { type: ['array', 'null'], items: { $ref: '#/components/schemas/test.Thing' } },
        },
      },
    })
  })
})

describe('operations', () => {
  it('of one method have different ids, and HEAD is left out', () => {
    expect(standard.paths['/old']).toMatchObject({
      post: { operationId: 'Standard_Old', deprecated: true },
    })
    expect(Object.keys(standard.paths['/old'] ?? {})).toEqual(['post'])
    expect(standard.paths['/older']?.put?.operationId).toBe('Standard_Old_2')
  })
})

describe('schemas', () => {
  it('describe proto3 JSON without a dialect', () => {
    expect(standard.components.schemas['test.Thing']).toEqual({
      type: 'object',
      properties: {
        bigNumber: { type: 'string', format: 'int64' },
        smallNumber: { type: 'integer', format: 'uint32', minimum: 0 },
        ratio: { type: 'number', format: 'double' },
        data: { type: 'string', contentEncoding: 'base64' },
        color: { $ref: '#/components/schemas/test.Color' },
        parts: {
          type: 'object',
          additionalProperties: { $ref: '#/components/schemas/test.Thing' },
        },
        age: { type: 'string', pattern: '^-?[0-9]+(\\.[0-9]{1,9})?s$' },
        count: { type: 'string', format: 'int64' },
        extra: { type: 'object', additionalProperties: true },
        anyJson: {},
        list: { type: 'array', items: {} },
        any: { type: 'object', properties: { '@type': { type: 'string' } }, required: ['@type'] },
        note: { type: 'string', deprecated: true },
        tags: { type: 'array', items: { type: 'string' } },
      },
    })
  })

  it('follow the dialect', () => {
    const thing = forge.components.schemas['test.Thing']
    expect(thing?.properties).toMatchObject({
      big_number: { type: 'integer', format: 'int64' },
      small_number: { type: 'integer' },
      age: { type: ['string', 'null'] },
      note: { type: ['string', 'null'] },
      tags: { type: ['array', 'null'] },
    })
    // Maps are left out while they are empty; everything else is always printed.
    expect(thing?.required).toEqual(
      Object.keys(thing?.properties ?? {}).filter((name) => name !== 'parts'),
    )
  })

  it('list the REST texts of enums', () => {
    expect(standard.components.schemas['test.Color']?.enum).toEqual(['COLOR_UNSPECIFIED', 'red'])
  })

  it('have a number if services with two dialects share a type', () => {
    expect(Object.keys(documentOf('test.Standard', 'test.Forge').components.schemas)).toEqual([
      'MessageUrl',
      'google.rpc.Status',
      'test.Color',
      'test.Thing',
      'test.Thing-2',
    ])
  })
})

describe('errors', () => {
  it('have the form of the dialect', () => {
    expect(forge.paths['/things']?.get?.responses.default?.content).toEqual({
      'application/json;charset=utf-8': { schema: { $ref: '#/components/schemas/MessageUrl' } },
    })
    expect(Object.keys(forge.components.schemas)).not.toContain('google.rpc.Status')
  })
})
