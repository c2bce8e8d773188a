import { create, fromJson, toJson } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import { compilePathSetter } from '../../../../../src/platform/rpc/rest/request/request-reader.ts'
import { FieldError } from '../../../../../src/platform/rpc/text/field-error.ts'
import { everything, registry } from '../everything.ts'
import { messageOf } from '../schema.ts'

function set(path: string, text: string) {
  const message = create(everything)
  compilePathSetter(everything, path, false)(message, text)
  return toJson(everything, message)
}

describe('a path setter', () => {
  it.each([
    ['a_string', 'any text', { aString: 'any text' }],
    ['a_bool', 'TRUE', { aBool: true }],
    ['a_bool', '1', { aBool: true }],
    ['maybe_int32', '0', { maybeInt32: 0 }],
    ['an_int32', '-2147483648', { anInt32: -2147483648 }],
    ['an_int32', '-0', {}],
    ['an_int32', `${'0'.repeat(40)}7`, { anInt32: 7 }],
    ['a_uint32', '4294967295', { aUint32: 4294967295 }],
    ['an_int64', '-9223372036854775808', { anInt64: '-9223372036854775808' }],
    ['a_fixed64', '18446744073709551615', { aFixed64: '18446744073709551615' }],
    ['text_int64', '0012', { textInt64: '12' }],
    ['a_double', '-1.5e3', { aDouble: -1500 }],
    ['a_double', '-Infinity', { aDouble: '-Infinity' }],
    ['a_float', 'NaN', { aFloat: 'NaN' }],
    ['state', 'STATE_CLOSED', { state: 'STATE_CLOSED' }],
    ['state', 'open', { state: 'STATE_OPEN' }],
    ['state', '1', { state: 'STATE_OPEN' }],
    ['state', '-77', { state: -77 }],
    ['legacy.closed', '2', { legacy: { closed: 'CLOSED_TWO' } }],
    ['a_bytes', '-_-_', { aBytes: '+/+/' }],
    ['a_bytes', '+/8=', { aBytes: '+/8=' }],
    ['a_bytes', '+/8', { aBytes: '+/8=' }],
    ['timestamp', '2024-02-29T12:00:00.5+02:30', { timestamp: '2024-02-29T09:30:00.500Z' }],
    ['timestamp', '0001-01-01T00:00:00Z', { timestamp: '0001-01-01T00:00:00Z' }],
    ['duration', '-0.000000001s', { duration: '-0.000000001s' }],
    ['mask', 'aB,c_d.eF', { mask: 'aB,cD.eF' }],
    ['mask', '', { mask: '' }],
    ['mask', ' aB , ,,c_d,', { mask: 'aB,cD' }],
    ['string_value', '', { stringValue: '' }],
    ['int64_value', '0', { int64Value: '0' }],
    // protobuf-es keeps the bare value of a wrapper, so that there is no message to descend into.
    ['int32_value.value', '5', { int32Value: 5 }],
    ['choice_wrapper', 'x', { choiceWrapper: 'x' }],
    ['choice_wrapper.value', 'x', { choiceWrapper: 'x' }],
    ['leaf.leaf.count', '3', { leaf: { leaf: { count: 3 } } }],
    ['timestamp.nanos', '5', { timestamp: '1970-01-01T00:00:00.000000005Z' }],
  ])('sets %s from %j', (path, text, expected) => {
    expect(set(path, text)).toEqual(expected)
  })

  it.each([
    ['a_bool', 'yes'],
    ['a_bool', ''],
    ['an_int32', ''],
    ['an_int32', '+1'],
    ['an_int32', ' 1'],
    ['an_int32', '0x10'],
    ['an_int32', '1.0'],
    ['an_int32', '1e3'],
    ['an_int32', '2147483648'],
    ['an_int32', '٣'],
    ['a_uint32', '-1'],
    ['an_int64', '9223372036854775808'],
    ['an_int64', '9'.repeat(10_000)],
    ['a_uint64', '18446744073709551616'],
    ['a_double', '.5'],
    ['a_double', '1e400'],
    ['a_double', 'infinity'],
    ['a_float', '3.5e38'],
    ['state', 'state_open'],
    ['state', ''],
    ['state', '2147483648'],
    ['legacy.closed', '3'],
    ['a_bytes', 'a'],
    ['a_bytes', 'ab='],
    ['a_bytes', 'a b='],
    ['timestamp', '2024-02-30T00:00:00Z'],
    ['timestamp', '2024-02-29T24:00:00Z'],
    ['timestamp', '2024-02-29T00:00:00'],
    ['timestamp', '2024-02-29T00:00:00.1234567890Z'],
    ['timestamp', '0001-01-01T00:00:00+00:01'],
    ['timestamp', '2024-02-29'],
    ['duration', '1'],
    ['duration', '315576000001s'],
    ['duration', '1sx'],
    ['bool_value', ''],
    ['leaf.leaf.count', 'x'],
  ])('rejects for %s the text %j with the name of the field', (path, text) => {
    expect(() => set(path, text)).toThrow(FieldError)
    expect(() => set(path, text)).toThrow(path)
  })

  it('keeps sibling fields from the body', () => {
    const message = fromJson(everything, { leaf: { count: 2, leaf: { id: 'old', count: 3 } } })
    compilePathSetter(everything, 'leaf.leaf.id', false)(message, 'new')
    expect(toJson(everything, message)).toEqual({
      leaf: { count: 2, leaf: { id: 'new', count: 3 } },
    })
  })

  it.each([
    ['choice_string', 'x', { choiceString: 'x' }],
    ['choice_leaf.id', 'x', { choiceLeaf: { id: 'x' } }],
    ['other_leaf.id', 'x', { otherLeaf: { id: 'x', count: 1 } }],
  ])(
    'replaces another member of the oneof by %s and merges the same member',
    (path, text, expected) => {
      const message = fromJson(everything, { otherLeaf: { id: 'body', count: 1 } })
      compilePathSetter(everything, path, false)(message, text)
      expect(toJson(everything, message)).toEqual(expected)
    },
  )

  it.each([
    ['an_int64', 'x', { anInt32: 7, leaf: { count: 7 } }],
    ['an_int32', '99999999999', { anInt64: '7', leaf: { count: 7 } }],
    ['leaf.count', '', { anInt64: '7', anInt32: 7, leaf: {} }],
  ])(
    'of a lenient dialect takes 0 for %s from %j, whatever the body gave',
    (path, text, expected) => {
      const message = fromJson(everything, { anInt64: '7', anInt32: 7, leaf: { count: 7 } })
      compilePathSetter(everything, path, true)(message, text)
      expect(toJson(everything, message)).toEqual(expected)
    },
  )

  it('of a lenient dialect rejects other invalid text', () => {
    const message = create(everything)
    expect(() => compilePathSetter(everything, 'timestamp', true)(message, 'x')).toThrow(
      'timestamp',
    )
  })

  it('treats names of object properties as names of fields', () => {
    const hostile = messageOf(registry, 'test.Hostile')
    const message = create(hostile)
    compilePathSetter(hostile, 'prototype.constructor', false)(message, 'x')
    expect(toJson(hostile, message)).toEqual({ prototype: { constructor: 'x' } })
    expect(Object.prototype).not.toHaveProperty('x')
  })

  it.each([
    'nope',
    'leaf',
    'leaf.nope',
    'strings',
    'leaves.id',
    'by_string',
    'a_string.x',
    'struct',
    'any',
    '',
  ])('does not compile for %j', (path) => {
    expect(() => compilePathSetter(everything, path, false)).toThrow('test.Everything has no field')
  })
})
