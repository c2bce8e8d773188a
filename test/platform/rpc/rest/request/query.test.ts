import { create, fromJson, toJson } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import {
  type BoundParameter,
  compileQuery,
  MAX_QUERY_PARAMETERS,
} from '../../../../../src/platform/rpc/rest/request/request-reader.ts'
import { standardDialect } from '../../../../../src/platform/rpc/rest/schema/dialect.ts'
import { FieldError } from '../../../../../src/platform/rpc/text/field-error.ts'
import { everything, registry } from '../everything.ts'
import { messageOf } from '../schema.ts'

const free: BoundParameter = { pathFields: [], body: '' }

function read(query: string, { bound = free, mode = standardDialect.query } = {}) {
  const message = create(everything)
  compileQuery(everything, bound, { ...standardDialect, query: mode })(message, query)
  return toJson(everything, message)
}

describe('a query', () => {
  it.each([
    ['', {}],
    ['a_string=x', { aString: 'x' }],
    ['aString=x', { aString: 'x' }],
    ['other-name=x', { 'other-name': 'x' }],
    ['renamed=x', { 'other-name': 'x' }],
    ['a_string=a+b%2Bc%20d', { aString: 'a b+c d' }],
    ['a%5Fstring=x', { aString: 'x' }],
    ['a_string=a=b', { aString: 'a=b' }],
    ['a_string=a;an_int32=1', { aString: 'a;an_int32=1' }],
    ['&&a_string=x&=y&', { aString: 'x' }],
    ['maybe_string', { maybeString: '' }],
    ['maybe_string=', { maybeString: '' }],
    ['string_value=', { stringValue: '' }],
    ['maybe_int32=0', { maybeInt32: 0 }],
    ['leaf.leaf.id=x&leaf.count=2', { leaf: { count: 2, leaf: { id: 'x' } } }],
    ['self.a_string=x&self.aBool=true', { self: { aString: 'x', aBool: true } }],
    ['strings=a,b&strings=c&strings=', { strings: ['a,b', 'c', ''] }],
    ['int64s=1&int64s=-2', { int64s: ['1', '-2'] }],
    ['states=open&states=STATE_CLOSED', { states: ['STATE_OPEN', 'STATE_CLOSED'] }],
    ['timestamps=2024-01-01T00:00:00Z', { timestamps: ['2024-01-01T00:00:00Z'] }],
    ['int64Values=5', { int64Values: ['5'] }],
    ['mask=a_b,cD&mask=e', { mask: 'aB,cD,e' }],
    ['masks=a&masks=b', { masks: ['a', 'b'] }],
    ['choice_leaf.id=x&choice_leaf.count=1', { choiceLeaf: { id: 'x', count: 1 } }],
    ['null_value=NULL_VALUE', {}],
    ['timestamp=2024-01-01T00:00:00%2B01:00', { timestamp: '2023-12-31T23:00:00Z' }],
  ])('%j is read', (query, expected) => {
    expect(read(query)).toEqual(expected)
  })

  it.each([
    ['an_int32=', 'an_int32: expected a 32-bit integer'],
    ['anInt32=x', 'anInt32: expected a 32-bit integer'],
    ['leaf.count=x', 'leaf.count: expected a 32-bit integer'],
    ['state=', 'state: expected a value of test.State'],
    ['a_string=1&aString=2', 'aString: set more than once'],
    ['string_value=1&string_value.value=2', 'string_value.value: set more than once'],
    ['choice_string=a&choice_string=b', 'choice_string: set more than once'],
    ['choice_string=a&choice_int64=1', 'choice_int64: another member of the same oneof is set'],
    ['choice_leaf.id=a&other_leaf.id=b', 'other_leaf.id: another member of the same oneof is set'],
    [
      'choice_wrapper=a&choice_leaf.id=b',
      'choice_leaf.id: another member of the same oneof is set',
    ],
    ['leaf=x', 'leaf: a query parameter cannot set a map or a message'],
    ['struct=x', 'struct: a query parameter cannot set a map or a message'],
    ['value=x', 'value: a query parameter cannot set a map or a message'],
    ['any=x', 'any: a query parameter cannot set a map or a message'],
    ['leaves=x', 'leaves: a query parameter cannot set a map or a message'],
    ['by_string=x', 'by_string: a query parameter cannot set a map or a message'],
    ['by_string.key=x', 'by_string.key: by_string has no fields that a parameter can set'],
    ['leaves.id=x', 'leaves.id: leaves has no fields that a parameter can set'],
    ['a_string.x=y', 'a_string.x: a_string has no fields that a parameter can set'],
    ['struct.fields=x', 'struct.fields: a query parameter cannot set a map or a message'],
    ['a_string=%', 'a_string: malformed percent-encoding in the query'],
    ['a_string=%zz', 'a_string: malformed percent-encoding in the query'],
    ['a_string=%ff', 'a_string: malformed percent-encoding in the query'],
    ['unknown=%ff', 'unknown: malformed percent-encoding in the query'],
    ['%=x', 'malformed percent-encoding in the query'],
    [`${'self.'.repeat(100)}a_string=x`, 'nested deeper than 100'],
  ])('%j is refused', (query, message) => {
    expect(() => read(query)).toThrow(FieldError)
    expect(() => read(query)).toThrow(message)
  })

  it.each([
    'nope=1',
    'leaf.nope=1',
    'by_string[key]=x',
    '__proto__=x',
    '__proto__.x=y',
    'constructor=x',
    'leaf.=x',
    '.=x',
  ])('%j names no field: ignored, or rejected by a strict dialect', (query) => {
    expect(read(query)).toEqual({})
    expect(() => read(query, { mode: 'strict' })).toThrow('unknown query parameter')
  })

  it.each([
    ['an_int32=&a_string=x', { aString: 'x' }],
    ['an_int32=x&an_int32=5', { anInt32: 5 }],
    ['a_bool=', {}],
    ['bool_value=', {}],
    ['a_double=1..2', {}],
    ['int64s=1&int64s=&int64s=3', { int64s: ['1', '3'] }],
    ['choice_int64=&choice_string=x', { choiceString: 'x' }],
    ['nope=1', {}],
    ['bool_value=maybe', { boolValue: false }],
    ['bool_value=T', { boolValue: true }],
    ['bool_value=F', { boolValue: false }],
  ])(
    '%j is read by a lenient dialect: no number is absent, and no bool is false',
    (query, expected) => {
      expect(read(query, { mode: 'lenient' })).toEqual(expected)
    },
  )

  it.each(['state=x', 'timestamp=x', 'a_bytes=x'])(
    '%j is refused by a lenient dialect too',
    (query) => {
      expect(() => read(query, { mode: 'lenient' })).toThrow('expected')
    },
  )

  it.each([
    [{ pathFields: ['a_string'], body: '' }, 'aString=x'],
    [{ pathFields: ['leaf.id'], body: '' }, 'leaf.id=x'],
    [{ pathFields: ['timestamp'], body: '' }, 'timestamp.seconds=1'],
    [{ pathFields: [], body: 'leaf' }, 'leaf=x'],
    [{ pathFields: [], body: 'leaf' }, 'leaf.leaf.id=x'],
    [{ pathFields: [], body: 'a_string' }, 'a_string.x=y'],
    [{ pathFields: [], body: '*' }, 'an_int32=x'],
  ])('with %j bound, %j counts as unknown', (bound, query) => {
    expect(read(query, { bound })).toEqual({})
    expect(() => read(query, { bound, mode: 'strict' })).toThrow('unknown query parameter')
  })

  it('sets the siblings of a bound field', () => {
    expect(read('leaf.count=2', { bound: { pathFields: ['leaf.id'], body: '' } })).toEqual({
      leaf: { count: 2 },
    })
  })

  it('does not replace a member of a oneof that path or body set', () => {
    const reader = compileQuery(
      everything,
      { pathFields: ['choice_string'], body: '' },
      standardDialect,
    )
    const message = fromJson(everything, { choiceString: 'path' })
    expect(() => reader(message, 'choice_int64=1')).toThrow(
      'another member of the same oneof is set',
    )
  })

  it('does not depend on earlier requests', () => {
    const reader = compileQuery(everything, free, standardDialect)
    for (const text of ['a', 'b']) {
      const message = create(everything)
      reader(message, `self.leaf.id=${text}&mask=${text}&mask=c`)
      expect(toJson(everything, message)).toEqual({
        self: { leaf: { id: text } },
        mask: `${text},c`,
      })
    }
  })

  it('is rejected beyond the limit of parameters, including unknown ones', () => {
    const pairs = new Array(MAX_QUERY_PARAMETERS).fill('x=1')
    expect(read(pairs.join('&&'))).toEqual({})
    expect(() => read([...pairs, 'x=1'].join('&'))).toThrow(
      `more than ${MAX_QUERY_PARAMETERS} query parameters`,
    )
  })

  it('reads any number of distinct names of a recursive type', () => {
    const reader = compileQuery(everything, free, standardDialect)
    for (let outer = 0; outer < 45; outer++) {
      for (let inner = 1; inner < 45; inner++) {
        const message = create(everything)
        reader(message, `${'self.'.repeat(outer)}${'leaf.'.repeat(inner)}id=${outer}-${inner}`)
        expect(JSON.stringify(toJson(everything, message))).toContain(`"id":"${outer}-${inner}"`)
      }
    }
  })

  it('accepts names of object properties as field names', () => {
    const hostile = messageOf(registry, 'test.Hostile')
    const message = create(hostile)
    compileQuery(hostile, free, standardDialect)(message, 'prototype.constructor=x&constructor=y')
    expect(toJson(hostile, message)).toEqual({ constructor: 'y', prototype: { constructor: 'x' } })
  })
})
