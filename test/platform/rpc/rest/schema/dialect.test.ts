import { describe, expect, it } from 'vitest'
import { createRpc } from '../../../../../src/platform/rpc/index.ts'
import {
  dialectOf,
  dialectProblems,
  isSuccessStatus,
  standardDialect,
} from '../../../../../src/platform/rpc/rest/schema/dialect.ts'
import { bindingsOf } from '../../../../../src/platform/rpc/rest/schema/rules.ts'
import { compileSchema, methodOf, serviceOf } from '../schema.ts'

function serviceWith(dialect: string | undefined) {
  const option = dialect === undefined ? '' : `option (rest.v1.dialect) = {${dialect}};`
  const registry = compileSchema(`
    syntax = "proto3";
    package test;
    import "rest/v1/rest.proto";
    service S { ${option} }`)
  return serviceOf(registry, 'test.S')
}

describe('dialectOf', () => {
  it('is the standard dialect for a service without the option', () => {
    expect(dialectOf(serviceWith(undefined))).toBe(standardDialect)
  })

  it('fills in every default', () => {
    expect(dialectOf(serviceWith(''))).toEqual(standardDialect)
  })

  it('returns the same object for the same service', () => {
    const service = serviceWith('names: ORIGINAL')
    expect(dialectOf(service)).toBe(dialectOf(service))
  })

  it('reads every option', () => {
    const service = serviceWith(`
      names: ORIGINAL int64: NUMBER scalars: DEFAULT lists: NULL maps: DEFAULT messages: NULL errors: MESSAGE_URL
      error_url: "https://example.com/api" error_status {code: 3 status: 422} error_status {code: 9 status: 412}
      empty_status: 204 content_type: "application/json;charset=utf-8" slashes: SLASHES_LENIENT query: QUERY_LENIENT
      etag: true`)
    expect(dialectProblems(service)).toEqual([])
    expect(dialectOf(service)).toEqual({
      names: 'original',
      int64: 'number',
      scalars: 'default',
      lists: 'null',
      maps: 'default',
      messages: 'null',
      errors: 'messageUrl',
      errorUrl: 'https://example.com/api',
      errorStatus: new Map([
        [3, 422],
        [9, 412],
      ]),
      emptyStatus: 204,
      contentType: 'application/json;charset=utf-8',
      slashes: 'lenient',
      query: 'lenient',
      etag: true,
    })
  })

  it('reads strict queries and explicit defaults', () => {
    expect(dialectOf(serviceWith('query: QUERY_STRICT')).query).toBe('strict')
    const spelledOut =
      'names: LOWER_CAMEL int64: STRING scalars: OMIT lists: OMIT maps: OMIT messages: OMIT errors: STATUS'
    expect(
      dialectOf(serviceWith(`${spelledOut} slashes: SLASHES_STRICT query: QUERY_IGNORE_UNKNOWN`)),
    ).toEqual(standardDialect)
  })
})

describe('dialectProblems', () => {
  it('accepts a service without the option', () => {
    expect(dialectProblems(serviceWith(undefined))).toEqual([])
  })

  it.each([
    ['scalars: NULL', 'scalars: a scalar without presence is OMIT or DEFAULT, never NULL'],
    ['messages: DEFAULT', 'messages: an unset message is OMIT or NULL, never DEFAULT'],
    ['query: 9', 'query: 9 is not a value of rest.v1.Query'], // enums are open
    ['error_status {code: 0 status: 400}', 'error_status: 0 is not an error code'],
    ['error_status {code: 17 status: 400}', 'error_status: 17 is not an error code'],
    ['error_status {code: 3 status: 200}', 'error_status: 200 is not an error status'],
    ['error_status {code: 3}', 'error_status: 0 is not an error status'],
    [
      'error_status {code: 3 status: 400} error_status {code: 3 status: 422}',
      'error_status: code 3 occurs twice',
    ],
    ['empty_status: 404', 'empty_status: 404 is not a status from 200 to 399'],
    ['content_type: "a\\r\\nb: c"', 'content_type: not a header value'],
  ])('reports {%s}', (dialect, text) => {
    expect(dialectProblems(serviceWith(dialect))).toEqual([`test.S: (rest.v1.dialect).${text}`])
  })
})

describe('a dialect like that of another service', () => {
  const registry = compileSchema(`
    syntax = "proto3";
    package test;
    import "rest/v1/rest.proto";
    import "google/api/annotations.proto";
    import "google/protobuf/empty.proto";
    service Plain {}
    service Forge {
      option (rest.v1.dialect) = {names: ORIGINAL empty_status: 204 query: QUERY_LENIENT};
      rpc Get(Thing) returns (Thing);
    }
    service Like {
      option (rest.v1.dialect).like = "test.Forge";
      rpc Remove(Thing) returns (google.protobuf.Empty) { option (google.api.http) = {delete: "/things/{id}"}; }
    }
    service LikePlain { option (rest.v1.dialect).like = "test.Plain"; }
    service LikeNobody { option (rest.v1.dialect).like = "test.Nobody"; }
    service LikeLike { option (rest.v1.dialect).like = "test.Like"; }
    service LikeItself { option (rest.v1.dialect).like = "test.LikeItself"; }
    service LikeAndMore {
      option (rest.v1.dialect) = {like: "test.Forge" names: ORIGINAL error_status {code: 3 status: 422}};
    }
    message Thing { int32 id = 1; }`)
  const service = (name: string) => serviceOf(registry, `test.${name}`)
  const beside = [...registry].filter((desc) => desc.kind === 'service')

  it('is the same object', () => {
    expect(dialectOf(service('Like'), beside)).toBe(dialectOf(service('Forge')))
    expect(dialectOf(service('LikePlain'), beside)).toBe(standardDialect)
    expect(dialectProblems(service('Like'), beside)).toEqual([])
    expect(dialectProblems(service('LikePlain'), beside)).toEqual([])
  })

  it('is the dialect of its bindings', () => {
    const { bindings } = bindingsOf(methodOf(service('Like'), 'Remove'), beside)
    const dialect = dialectOf(service('Forge'))
    expect(bindings).toMatchObject([
      { dialect, successStatus: 204, isBodiless: true, numberSegments: [1] },
    ])
  })

  it.each([
    ['LikeNobody', 'no service test.Nobody is served'],
    ['LikeLike', 'test.Like is like another one itself'],
    ['LikeItself', 'test.LikeItself is like another one itself'],
    ['LikeAndMore', 'stands alone, without names, error_status'],
  ])('is rejected in %s', (name, text) => {
    expect(dialectProblems(service(name), beside)).toEqual([
      `test.${name}: (rest.v1.dialect).like: ${text}`,
    ])
  })

  it('requires the other service on the same server', () => {
    const rpc = createRpc()
    const { router } = rpc
    router.service(service('Like'), {})
    expect(() => rpc.handlers()).toThrow(
      'test.Like: (rest.v1.dialect).like: no service test.Forge is served',
    )
    router.service(service('Forge'), {})
    expect(rpc.routes()).toMatchObject([{ template: '/things/{id}', status: 204 }])
  })
})

describe('isSuccessStatus', () => {
  it.each([
    [199, false],
    [200, true],
    [399, true],
    [400, false],
  ])('of %i is %j', (status, success) => {
    expect(isSuccessStatus(status)).toBe(success)
  })
})
