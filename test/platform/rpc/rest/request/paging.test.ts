import { create, type Message, type MessageInitShape } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import { compilePaging, publicRequestUrl } from '../../../../../src/platform/rpc/rest/reply.ts'
import { bindingsOf } from '../../../../../src/platform/rpc/rest/schema/rules.ts'
import { compileSchema, messageOf, methodOf, serviceOf } from '../schema.ts'

const schema = compileSchema(`
  syntax = "proto3";
  package pages.v1;
  import "rest/v1/rest.proto";
  import "google/api/annotations.proto";
  service Pages {
    rpc List(ListRequest) returns (ListResponse) {
      option (google.api.http) = { get: "/items" response_body: "items" };
      option (rest.v1.method) = { page { total: "total" page: "page_number" limit: "limit" } };
    }
  }
  message ListRequest { int64 page_number = 1; oneof size { uint32 limit = 2; string all = 3; } }
  message ListResponse { repeated string items = 1; int64 total = 2; optional uint32 limit = 3; }
`)
const list = methodOf(serviceOf(schema, 'pages.v1.Pages'), 'List')
const paging = bindingsOf(list).bindings[0]?.page
if (paging === undefined) throw new Error('the method has no paging')
const writer = compilePaging(paging, 'lowerCamel')

function make(name: string, init: object): Message {
  const desc = messageOf(schema, `pages.v1.${name}`)
  return create(desc, init as MessageInitShape<typeof desc>)
}

/** The headers of a page; `limit` is what the request asks for. */
function pageOf({
  page,
  limit,
  total,
  applied,
}: {
  page: number
  limit: number
  total: number
  applied?: number
}) {
  const request = make('ListRequest', {
    pageNumber: BigInt(page),
    size: { case: 'limit', value: limit },
  })
  const response = make('ListResponse', {
    total: BigInt(total),
    ...(applied === undefined ? {} : { limit: applied }),
  })
  return writer(request, response, `http://forge.test/items?q=a%20b&page_number=${page}`)
}

const url = (page: number) => `<http://forge.test/items?q=a%20b&page_number=${page}>`

describe('Link', () => {
  it.each([
    [
      'the first page',
      { page: 1, limit: 10, total: 30 },
      `${url(2)}; rel="next",${url(3)}; rel="last"`,
    ],
    [
      'page 0, which is the first',
      { page: 0, limit: 10, total: 30 },
      `${url(2)}; rel="next",${url(3)}; rel="last"`,
    ],
    [
      'a page in the middle',
      { page: 2, limit: 10, total: 30 },
      `${url(3)}; rel="next",${url(3)}; rel="last",${url(1)}; rel="first",${url(1)}; rel="prev"`,
    ],
    [
      'the last page',
      { page: 3, limit: 10, total: 30 },
      `${url(1)}; rel="first",${url(2)}; rel="prev"`,
    ],
    [
      'a page beyond the end',
      { page: 9, limit: 10, total: 30 },
      `${url(1)}; rel="first",${url(3)}; rel="prev"`,
    ],
    [
      'a last page that is not full',
      { page: 1, limit: 10, total: 11 },
      `${url(2)}; rel="next",${url(2)}; rel="last"`,
    ],
    [
      'the limit that the service applied',
      { page: 1, limit: 10, total: 30, applied: 15 },
      `${url(2)}; rel="next",${url(2)}; rel="last"`,
    ],
    ['a single page', { page: 1, limit: 10, total: 10 }, undefined],
    ['no result', { page: 1, limit: 10, total: 0 }, undefined],
    ['no limit at all', { page: 1, limit: 0, total: 30 }, undefined],
  ])('of %s', (_, input, link) => {
    expect(pageOf(input)).toEqual({ total: String(input.total), link })
  })

  it('is exact beyond the integers of a double', () => {
    const request = make('ListRequest', {
      pageNumber: 9007199254740993n,
      size: { case: 'limit', value: 1 },
    })
    const response = make('ListResponse', { total: 9007199254740993n })
    expect(writer(request, response, 'http://forge.test/items').link).toContain(
      'pageNumber=9007199254740992>; rel="prev"',
    )
  })

  it.each([
    [
      'keeps every other parameter and its order',
      '/items?b=2&pageNumber=1&a=1',
      '/items?b=2&pageNumber=2&a=1',
    ],
    ['keeps the spelling of the parameter', '/items?page_number=1', '/items?page_number=2'],
    ['finds an escaped name', '/items?page%5Fnumber=1', '/items?page%5Fnumber=2'],
    ['adds the parameter', '/items?a', '/items?a&pageNumber=2'],
    ['adds a query', '/items', '/items?pageNumber=2'],
    ['leaves a malformed name alone', '/items?%zz=1', '/items?%zz=1&pageNumber=2'],
    ['drops empty pairs', '/items?&a=1&', '/items?a=1&pageNumber=2'],
  ])('%s', (_, received, expected) => {
    const request = make('ListRequest', { pageNumber: 1n, size: { case: 'limit', value: 1 } })
    const response = make('ListResponse', { total: 2n })
    expect(writer(request, response, received).link).toContain(`<${expected}>; rel="next"`)
  })
})

describe('publicRequestUrl', () => {
  it.each([
    ['https://forge.test', '/items?a=1', 'https://forge.test/items?a=1'],
    ['https://forge.test/base/', '/items', 'https://forge.test/base/items'],
    [
      'https://forge.test',
      'http://other.test/items?u=http://x',
      'https://forge.test/items?u=http://x',
    ],
    ['https://forge.test', 'http://other.test', 'https://forge.test'],
    // A target must not end the URL of a link, whatever Node lets through.
    ['https://forge.test', '/items?a=<">', 'https://forge.test/items?a=%3C%22%3E'],
    ['https://forge.test', '/items?a=\u00e4', 'https://forge.test/items?a=%E4'],
  ])('%s and %s', (base, target, expected) => {
    expect(publicRequestUrl(base, target)).toBe(expected)
  })
})
