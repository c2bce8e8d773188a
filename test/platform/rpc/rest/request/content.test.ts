import { describe, expect, it } from 'vitest'
import { checkJson } from '../../../../../src/platform/rpc/rest/request/content.ts'

describe('checkJson', () => {
  it.each([
    undefined,
    'application/json',
    'Application/JSON',
    'application/json; charset=utf-8',
    'application/json;charset="UTF-8"',
    'application/json; charset=utf8',
    'application/merge-patch+json',
    'application/vnd.forge.v1+json; profile=x',
  ])('takes %s', (contentType) => {
    expect(() => checkJson(contentType)).not.toThrow()
  })

  it.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/jsonp',
    'application/+json',
    'text/json',
    'application/json; charset=latin1',
    'application/json;charset="utf-16"',
    '',
  ])('refuses %s', (contentType) => {
    expect(() => checkJson(contentType)).toThrow(/unsupported media type/)
  })
})
