import { compressionBrotli, compressionGzip } from '@connectrpc/connect-node'
import { describe, expect, it } from 'vitest'
import { isCompressible } from '../../../../src/platform/rpc/exchange/compression.ts'
import {
  requestCoding,
  responseCoding,
  tagMatches,
  timeoutOf,
  wantsTrailers,
} from '../../../../src/platform/rpc/exchange/negotiate.ts'
import { byPreference } from '../../../../src/platform/rpc/exchange/settings.ts'

const codings = byPreference([compressionGzip, compressionBrotli])
const anyTimeout = Number.MAX_SAFE_INTEGER

describe('timeoutOf', () => {
  it.each([
    [{}, undefined],
    [{ 'connect-timeout-ms': '1500' }, 1500],
    [{ 'connect-timeout-ms': '0' }, 0],
    [{ 'grpc-timeout': '2S' }, 2000],
    [{ 'grpc-timeout': '2H' }, 7_200_000],
    [{ 'grpc-timeout': '500u' }, 0.5],
    [{ 'x-server-timeout': '1.25' }, 1250],
    // The first one in the order of the contract counts, whatever the order of the headers.
    [{ 'x-server-timeout': '9', 'grpc-timeout': '8S', 'connect-timeout-ms': '7' }, 7],
    [{ 'x-server-timeout': '9', 'grpc-timeout': '8S' }, 8000],
  ])('reads %j as %s', (headers, timeoutMs) => {
    expect(timeoutOf(headers, anyTimeout)).toBe(timeoutMs)
  })

  it.each([
    [{ 'connect-timeout-ms': '' }],
    [{ 'connect-timeout-ms': '-1' }],
    [{ 'connect-timeout-ms': '12345678901' }],
    [{ 'grpc-timeout': '1' }],
    [{ 'grpc-timeout': 'S' }],
    [{ 'grpc-timeout': '123456789S' }],
    [{ 'grpc-timeout': '1s' }],
    [{ 'x-server-timeout': '1e3' }],
    [{ 'x-server-timeout': '.5' }],
    // A malformed header is not passed over for the next one.
    [{ 'connect-timeout-ms': 'x', 'grpc-timeout': '1S' }],
  ])('refuses %j', (headers) => {
    expect(() => timeoutOf(headers, anyTimeout)).toThrow(/malformed/)
  })

  it('rejects more than the maximum', () => {
    expect(timeoutOf({ 'connect-timeout-ms': '100' }, 100)).toBe(100)
    expect(() => timeoutOf({ 'connect-timeout-ms': '101' }, 100)).toThrow(/at most 100 ms/)
  })
})

describe('requestCoding', () => {
  it.each([
    [undefined, undefined],
    ['identity', undefined],
    ['gzip', 'gzip'],
    ['GZIP', 'gzip'],
    // RFC 9110 8.4.1.3: to be taken for gzip.
    ['x-gzip', 'gzip'],
    ['br', 'br'],
  ])('takes %s as %s', (header, name) => {
    expect(requestCoding(header, codings)?.name).toBe(name)
  })

  it.each(['deflate', 'zstd', 'gzip, br'])('refuses %s', (header) => {
    expect(() => requestCoding(header, codings)).toThrow(/unsupported content coding/)
  })
})

describe('responseCoding', () => {
  it.each([
    [undefined, undefined],
    ['', undefined],
    ['gzip', 'gzip'],
    ['gzip, br', 'br'],
    ['br;q=0.5, gzip', 'gzip'],
    ['gzip;q=0.5, br;q=0.5', 'br'],
    ['*', 'br'],
    ['br;q=0, *', 'gzip'],
    ['*;q=0', undefined],
    ['gzip;q=0', undefined],
    ['identity', undefined],
    ['identity;q=1, gzip;q=0.5', undefined],
    ['identity, gzip', 'gzip'],
    ['gzip;q=x', undefined],
    ['deflate, zstd', undefined],
    ['GZIP ; Q=0.3', 'gzip'],
  ])('answers %s with %s', (header, name) => {
    expect(responseCoding(header, codings)?.name).toBe(name)
  })

  it('uses none if the server supports none', () => {
    expect(responseCoding('gzip', [])).toBeUndefined()
  })
})

describe('isCompressible', () => {
  it.each([
    ['application/json', true],
    ['text/plain; charset=utf-8', true],
    ['image/svg+xml', true],
    ['application/octet-stream', true],
    ['image/png', false],
    ['Video/MP4', false],
    ['application/zip', false],
    ['application/gzip; x=y', false],
  ])('%s: %s', (contentType, expected) => {
    expect(isCompressible(contentType)).toBe(expected)
  })
})

describe('wantsTrailers', () => {
  it.each([
    [undefined, false],
    ['trailers', true],
    ['deflate, Trailers', true],
    ['gzip', false],
  ])('%s: %s', (te, expected) => {
    expect(wantsTrailers(te === undefined ? {} : { te })).toBe(expected)
  })
})

describe('tagMatches', () => {
  it.each([
    ['"a"', '"a"', true],
    ['W/"a"', '"a"', true],
    ['"a"', 'W/"a"', true],
    ['"b", "a"', '"a"', true],
    ['*', '"a"', true],
    ['"b,a"', '"b,a"', true],
    ['"b"', '"a"', false],
    ['a', '"a"', false],
  ])('%s against %s: %s', (ifNoneMatch, tag, expected) => {
    expect(tagMatches(ifNoneMatch, tag)).toBe(expected)
  })
})
