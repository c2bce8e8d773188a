import type { DescMethod, JsonObject } from '@bufbuild/protobuf'
import { clone, create, createFileRegistry, fromJson, setExtension } from '@bufbuild/protobuf'
import {
  FileDescriptorProtoSchema,
  MethodOptionsSchema,
  ServiceOptionsSchema,
} from '@bufbuild/protobuf/wkt'
import { describe, expect, it } from 'vitest'
import { http as httpExtension } from '#gen/google/api/annotations_pb.ts'
import { HttpRuleSchema } from '#gen/google/api/http_pb.ts'
import {
  DialectSchema,
  dialect as dialectExtension,
  MethodSchema,
  method as methodExtension,
} from '#gen/rest/v1/rest_pb.ts'
import { rpcName } from '../../../../../src/platform/rpc/rest/schema/binding.ts'
import { bindingsOf } from '../../../../../src/platform/rpc/rest/schema/rules.ts'
import { compileSchema, methodOf, serviceOf } from '../schema.ts'

/** Compiled once; the options of each case are set afterwards. */
const schema = compileSchema(`
  syntax = "proto3";
  package test;
  import "google/api/httpbody.proto";
  import "google/protobuf/any.proto";
  import "google/protobuf/duration.proto";
  import "google/protobuf/empty.proto";
  import "google/protobuf/field_mask.proto";
  import "google/protobuf/struct.proto";
  import "google/protobuf/timestamp.proto";
  import "google/protobuf/wrappers.proto";
  service S {
    rpc M(Request) returns (Response);
    rpc ReturnsEmpty(Request) returns (google.protobuf.Empty);
    rpc Download(Request) returns (stream Response);
    rpc Upload(stream Request) returns (Response);
    rpc UploadBody(stream google.api.HttpBody) returns (Response);
    rpc Chat(stream Request) returns (stream Response);
    rpc ChatBody(stream google.api.HttpBody) returns (stream Response);
  }
  message Request {
    string name = 1;
    int64 id = 2;
    State state = 3;
    Inner inner = 4;
    repeated string tags = 5;
    map<string, string> labels = 6;
    optional string maybe = 7;
    oneof choice { string left = 8; Inner right = 9; }
    google.protobuf.StringValue wrapped = 10;
    google.protobuf.Timestamp time = 11;
    google.protobuf.Duration duration = 12;
    google.protobuf.FieldMask mask = 13;
    google.protobuf.Struct struct = 14;
    google.protobuf.Any any = 15;
    google.protobuf.Empty empty = 16;
    repeated Inner inners = 17;
    google.api.HttpBody upload = 18;
    repeated google.api.HttpBody uploads = 19;
    string displayName = 20;
    int32 page = 21;
    uint32 limit = 22;
  }
  message Inner { string leaf = 1; Inner inner = 2; repeated string leaves = 3; }
  message Response {
    repeated Inner items = 1;
    int64 total = 2;
    string etag = 3;
    bytes raw = 4;
    Inner inner = 5;
    uint32 limit = 6;
    repeated string tags = 7;
    google.protobuf.Empty empty = 8;
  }
  enum State { STATE_UNSPECIFIED = 0; }
`)

/** Options of a method and its service in JSON form. */
interface Options {
  http?: JsonObject
  own?: JsonObject
  dialect?: JsonObject
}

/** A method of the schema with options, as unknown fields, the way descriptor sets carry them. */
function methodWith({ http, own, dialect }: Options, name = 'M'): DescMethod {
  const file = clone(FileDescriptorProtoSchema, serviceOf(schema, 'test.S').file.proto)
  const service = file.service.find((candidate) => candidate.name === 'S')
  const method = service?.method.find((candidate) => candidate.name === name)
  if (service === undefined || method === undefined)
    throw new Error(`no method ${name} in the schema`)
  method.options = create(MethodOptionsSchema)
  service.options = create(ServiceOptionsSchema)
  if (http) setExtension(method.options, httpExtension, fromJson(HttpRuleSchema, http))
  if (own) setExtension(method.options, methodExtension, fromJson(MethodSchema, own))
  if (dialect) setExtension(service.options, dialectExtension, fromJson(DialectSchema, dialect))
  const registry = createFileRegistry(file, (path) => schema.getFile(path))
  return methodOf(serviceOf(registry, 'test.S'), name)
}

/** Bindings in short form. */
function bindings(...args: Parameters<typeof methodWith>): string[] {
  const result = bindingsOf(methodWith(...args))
  expect(result.problems).toEqual([])
  return result.bindings.map(({ httpMethod, template, body, responseBody }) =>
    [httpMethod, template.text, body && `body=${body}`, responseBody && `response=${responseBody}`]
      .filter(Boolean)
      .join(' '),
  )
}

function problems(...args: Parameters<typeof methodWith>): readonly string[] {
  const result = bindingsOf(methodWith(...args))
  return result.problems
}

describe('bindingsOf', () => {
  it('returns no binding for a method without a rule', () => {
    expect(bindings({})).toEqual([])
    expect(bindings({ own: { successStatus: 201 } })).toEqual([])
  })

  it.each([
    [{ get: '/a' }, 'GET /a'],
    [{ put: '/a' }, 'PUT /a'],
    [{ post: '/a', body: '*' }, 'POST /a body=*'],
    [{ delete: '/a', body: 'inner' }, 'DELETE /a body=inner'], // allowed on DELETE
    [
      { patch: '/a/{name}', body: 'tags', responseBody: 'items' },
      'PATCH /a/{name} body=tags response=items',
    ],
    [{ custom: { kind: 'HEAD', path: '/a' } }, 'HEAD /a'],
    [{ custom: { kind: '*', path: '/a' }, body: '*' }, '* /a body=*'],
    [{ custom: { kind: 'VERSION-CONTROL', path: '/a' } }, 'VERSION-CONTROL /a'], // RFC 3253
    [{ selector: 'ignored', get: '/a' }, 'GET /a'],
    [{ post: '/a', body: 'labels' }, 'POST /a body=labels'],
    [{ post: '/a', body: 'name' }, 'POST /a body=name'],
    [{ get: '/a', responseBody: 'inner' }, 'GET /a response=inner'],
  ])('reads %j', (rule, binding) => {
    expect(bindings({ http: rule })).toEqual([binding])
  })

  it('returns additional bindings, and those of the method option in the extended grammar', () => {
    const http = {
      get: '/a',
      additionalBindings: [{ put: '/b', body: '*' }, { get: '/c/{name=**}' }],
    }
    const first = { get: '/d/{name}.{left=x|y}', additionalBindings: [{ get: '/e/{name=**}/end' }] }
    const own = { bindings: [first, { get: '/f' }] }
    expect(bindings({ http, own })).toEqual([
      'GET /a',
      'PUT /b body=*',
      'GET /c/{name=**}',
      'GET /d/{name}.{left=x|y}',
      'GET /e/{name=**}/end',
      'GET /f',
    ])
    expect(bindings({ own })).toHaveLength(3)
  })

  it.each([
    'name',
    'id',
    'state',
    'inner.leaf',
    'inner.inner.inner.leaf',
    'maybe',
    'left',
    'right.leaf',
    'wrapped',
    'time',
    'duration',
    'mask',
    'displayName',
    'upload.content_type',
  ])('accepts the path variable %s', (fieldPath) => {
    expect(bindings({ http: { get: `/a/{${fieldPath}}` } })).toEqual([`GET /a/{${fieldPath}}`])
  })

  it.each([
    ['nothing', 'test.Request has no field nothing'],
    ['display_name', 'test.Request has no field display_name'], // proto names, not JSON names
    ['__proto__', 'test.Request has no field __proto__'],
    ['inner.nothing', 'test.Inner has no field nothing'],
    ['inner', 'a message without a scalar JSON form, test.Inner'],
    ['struct', 'a message without a scalar JSON form, google.protobuf.Struct'],
    ['any', 'a message without a scalar JSON form, google.protobuf.Any'],
    ['empty', 'a message without a scalar JSON form, google.protobuf.Empty'],
    ['tags', 'a repeated field'],
    ['labels', 'a map'],
    ['name.x', 'name is not a singular message'],
    ['inners.leaf', 'inners is not a singular message'],
    ['labels.key', 'labels is not a singular message'],
    ['wrapped.value', 'wrapped is a wrapper: name it without its value'],
  ])('rejects the path variable %s: %s', (fieldPath, text) => {
    const place = `test.S/M: (google.api.http): GET /a/{${fieldPath}}`
    expect(problems({ http: { get: `/a/{${fieldPath}}` } })).toEqual([
      `${place}: variable ${fieldPath}: ${text}`,
    ])
  })

  it.each([
    [{}, 'no pattern: one of get, put, post, delete, patch, custom'],
    [{ body: '*' }, 'no pattern: one of get, put, post, delete, patch, custom'],
    [{ get: '' }, 'get: blank path'],
    [{ get: ' ' }, 'get: blank path'],
    [{ custom: { kind: '', path: '/a' } }, 'custom.kind: blank'],
    [{ custom: { kind: 'HEAD', path: '' } }, 'custom.path: blank'],
    [
      { custom: { kind: 'head', path: '/a' } },
      'custom.kind: "head" is not an HTTP method in upper case',
    ],
    [
      { custom: { kind: 'A B', path: '/a' } },
      'custom.kind: "A B" is not an HTTP method in upper case',
    ],
    [{ get: '/a//b' }, 'GET /a//b: column 4: empty segment'],
    [{ get: '/a', body: '*' }, 'GET /a: body: GET has no body'],
    [{ custom: { kind: 'GET', path: '/a' }, body: '*' }, 'GET /a: body: GET has no body'],
    [{ custom: { kind: 'HEAD', path: '/a' }, body: 'name' }, 'HEAD /a: body: HEAD has no body'],
    [{ put: '/a', body: 'nothing' }, 'PUT /a: body: "nothing" is not a field of test.Request'],
    [
      { put: '/a', body: 'inner.leaf' },
      'PUT /a: body: "inner.leaf" is not a field of test.Request',
    ],
    [{ put: '/a', body: ' ' }, 'PUT /a: body: " " is not a field of test.Request'],
    [
      { get: '/a', responseBody: 'nothing' },
      'GET /a: response_body: "nothing" is not a field of test.Response',
    ],
    [
      { get: '/a', responseBody: 'inner.leaf' },
      'GET /a: response_body: "inner.leaf" is not a field of test.Response',
    ],
    [
      { get: '/a', responseBody: '*' },
      'GET /a: response_body: "*" is not a field of test.Response',
    ],
  ])('refuses %j', (rule, text) => {
    expect(problems({ http: rule })).toEqual([`test.S/M: (google.api.http): ${text}`])
  })

  it.each(['/a/{name}.json', '/a/{name=**}/b', '/a/{name=x|y}'])(
    'points to the option that takes %s',
    (path) => {
      const [problem] = problems({ http: { get: path } })
      expect(problem).toMatch(/: column \d+: .*; write it in \(rest\.v1\.method\)\.bindings$/)
      expect(bindings({ own: { bindings: [{ get: path }] } })).toEqual([`GET ${path}`])
    },
  )

  it('rejects a binding inside a binding', () => {
    const nested = {
      get: '/a',
      additionalBindings: [{ get: '/b', additionalBindings: [{ get: '/c' }] }],
    }
    expect(problems({ http: nested })).toEqual([
      'test.S/M: (google.api.http).additional_bindings[0].additional_bindings: a binding inside a binding',
    ])
  })

  it('reports all mistakes of all rules and returns the valid rules', () => {
    const http = {
      get: '/a/{tags}/{nothing}',
      body: '*',
      additionalBindings: [{ get: '/{' }, { get: '/fine' }],
    }
    const own = { successStatus: 404, bindings: [{ put: '/b', responseBody: 'x' }] }
    const result = bindingsOf(methodWith({ http, own }))
    expect(result.problems).toEqual([
      'test.S/M: (rest.v1.method): success_status: 404 is not a status from 200 to 399',
      'test.S/M: (google.api.http): GET /a/{tags}/{nothing}: variable tags: a repeated field',
      'test.S/M: (google.api.http): GET /a/{tags}/{nothing}: variable nothing: test.Request has no field nothing',
      'test.S/M: (google.api.http): GET /a/{tags}/{nothing}: body: GET has no body',
      'test.S/M: (google.api.http).additional_bindings[0]: GET /{: column 3: unexpected end',
      'test.S/M: (rest.v1.method).bindings[0]: PUT /b: response_body: "x" is not a field of test.Response',
    ])
    expect(result.bindings.map(({ template }) => template.text)).toEqual(['/fine'])
  })
})

describe('streams', () => {
  it.each([
    ['Download', { get: '/a' }],
    ['UploadBody', { post: '/a', body: '*' }],
    ['Upload', { post: '/a/{name}', body: 'upload' }],
  ])('%s has a REST form with %j', (name, rule) => {
    expect(bindings({ http: rule }, name)).toHaveLength(1)
  })

  it.each([
    ['Chat', { post: '/a', body: '*' }, 'a bidirectional stream has no REST form'],
    ['ChatBody', { post: '/a', body: '*' }, 'a bidirectional stream has no REST form'],
    ['Upload', { post: '/a', body: '*' }, 'google.api.HttpBody'],
    ['Upload', { post: '/a', body: 'inner' }, 'google.api.HttpBody'],
    ['Upload', { post: '/a', body: 'uploads' }, 'google.api.HttpBody'], // a list of chunks
    ['UploadBody', { post: '/a' }, 'google.api.HttpBody'],
  ])('%s has none with %j', (name, rule, text) => {
    expect(problems({ http: rule }, name)).toEqual([expect.stringContaining(text)])
  })
})

describe('the status of success', () => {
  const dialect = { emptyStatus: 204 }

  it.each([
    ['200 by default', {}, 'M', 200],
    ['that of the method', { own: { successStatus: 201 } }, 'M', 201],
    ['200 for Empty', {}, 'ReturnsEmpty', 200],
    ['that of the dialect for Empty', { dialect }, 'ReturnsEmpty', 204],
    [
      'that of the method before that of the dialect',
      { own: { successStatus: 202 }, dialect },
      'ReturnsEmpty',
      202,
    ],
    ['200 for another message in that dialect', { dialect }, 'M', 200],
    ['a redirect', { own: { successStatus: 302 } }, 'M', 302],
  ])('is %s', (_, options, name, status) => {
    const method = methodWith({ http: { get: '/a' }, ...options }, name)
    expect(bindingsOf(method).bindings.map(({ successStatus }) => successStatus)).toEqual([status])
  })

  it.each([1, 199, 400, 500])('is not %i', (status) => {
    expect(problems({ http: { get: '/a' }, own: { successStatus: status } })).toHaveLength(1)
  })
})

describe('paging', () => {
  const http = { get: '/a', responseBody: 'items' }
  const page = { total: 'total', page: 'page', limit: 'limit' }

  it('finds its fields', () => {
    const method = methodWith({ http, own: { page } })
    const { bindings, problems } = bindingsOf(method)
    expect(problems).toEqual([])
    const paging = bindings[0]?.page
    expect(
      [paging?.total, paging?.page, paging?.limit, paging?.appliedLimit].map((field) =>
        field?.toString(),
      ),
    ).toEqual([
      'field test.Response.total',
      'field test.Request.page',
      'field test.Request.limit',
      'field test.Response.limit', // of the same name, so it wins over the request
    ])
  })

  it('needs no response field with the name of the limit', () => {
    const method = methodWith({ http, own: { page: { ...page, limit: 'id' } } })
    expect(bindingsOf(method).bindings[0]?.page).not.toHaveProperty('appliedLimit')
  })

  it.each([
    [
      { total: 'nothing', page: 'page', limit: 'limit' },
      'page.total: "nothing" is not a field of test.Response',
    ],
    [{ page: 'page', limit: 'limit' }, 'page.total: "" is not a field of test.Response'],
    [
      { total: 'etag', page: 'page', limit: 'limit' },
      'page.total: etag of test.Response is not an integer',
    ],
    [
      { total: 'total', page: 'name', limit: 'limit' },
      'page.page: name of test.Request is not an integer',
    ],
    [
      { total: 'total', page: 'page', limit: 'tags' },
      'page.limit: tags of test.Request is not an integer',
    ],
  ])('refuses %j', (page, text) => {
    expect(problems({ http, own: { page } })).toContain(`test.S/M: (rest.v1.method): ${text}`)
  })

  it.each(['', 'inner'])('accepts a message with a list as the body, %j', (responseBody) => {
    expect(problems({ http: { get: '/a', responseBody }, own: { page } })).toEqual([])
  })

  it.each(['total', 'empty'])('refuses a body without a list, %j', (responseBody) => {
    expect(problems({ http: { get: '/a', responseBody }, own: { page } })).toEqual([
      expect.stringContaining('paging needs a repeated field'),
    ])
  })
})

describe('headers', () => {
  const http = { get: '/a' }

  it('come from scalar fields of the response', () => {
    const method = methodWith({
      http,
      own: {
        headers: [
          { name: 'ETag', field: 'etag' },
          { name: 'X-Total', field: 'total' },
        ],
      },
    })
    const { bindings, problems } = bindingsOf(method)
    expect(problems).toEqual([])
    expect(bindings[0]?.headers.map(({ name, field }) => `${name} ${field.name}`)).toEqual([
      'ETag etag',
      'X-Total total',
    ])
  })

  it.each([
    [{ name: '', field: 'etag' }, 'name: "" is not a header name'],
    [{ name: 'a b', field: 'etag' }, 'name: "a b" is not a header name'],
    [{ name: 'a\n', field: 'etag' }, 'name: "a\\n" is not a header name'],
    [{ name: 'content-Length', field: 'total' }, 'name: content-Length belongs to the protocol'],
    [{ name: 'A', field: 'name' }, 'field: "name" is not a field of test.Response'], // a field of the request
    [{ name: 'A', field: 'inner' }, 'field: inner is not a singular scalar with a text form'],
    [{ name: 'A', field: 'tags' }, 'field: tags is not a singular scalar with a text form'],
    [{ name: 'A', field: 'raw' }, 'field: raw is not a singular scalar with a text form'],
  ])('refuse %j', (header, text) => {
    expect(problems({ http, own: { headers: [header] } })).toEqual([
      `test.S/M: (rest.v1.method): headers[0].${text}`,
    ])
  })

  it('cannot repeat a name', () => {
    const own = {
      headers: [
        { name: 'A', field: 'etag' },
        { name: 'a', field: 'total' },
      ],
    }
    expect(problems({ http, own })).toEqual([
      expect.stringContaining('headers[1].name: a occurs twice'),
    ])
  })
})

describe('rpcName', () => {
  it('is the path of the RPC without its leading slash', () => {
    expect(rpcName(methodWith({}))).toBe('test.S/M')
  })
})
