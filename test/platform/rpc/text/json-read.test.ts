import type { JsonValue } from '@bufbuild/protobuf'
import { create, createRegistry, equals, fromJson, toJson } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import { FieldError } from '../../../../src/platform/rpc/text/field-error.ts'
import { compileBodyReader } from '../../../../src/platform/rpc/text/json-read.ts'
import { everything, registry } from '../rest/everything.ts'
import { messageOf } from '../rest/schema.ts'

function readMessage(body: string | Uint8Array, rule = '*', desc = everything) {
  const message = create(desc)
  compileBodyReader(
    desc,
    rule,
    registry,
  )(typeof body === 'string' ? new TextEncoder().encode(body) : body, message)
  return message
}

function read(body: string | Uint8Array, rule = '*') {
  return toJson(everything, readMessage(body, rule), { registry })
}

describe('a body', () => {
  it.each([
    ['', {}],
    ['null', {}],
    [' {} \n', {}],
    ['{"aString":"x","an_int32":1}', { aString: 'x', anInt32: 1 }],
    ['{"other-name":"x"}', { 'other-name': 'x' }],
    ['{"renamed":"x"}', { 'other-name': 'x' }],
    ['{"nope":{"deep":[1,{"x":null}]},"aBool":true}', { aBool: true }],
    [
      '{"aString":null,"maybeString":null,"leaf":null,"strings":null,"byString":null,"stringValue":null,"state":null}',
      {},
    ],
    [
      '{"maybeInt32":0,"stringValue":"","maybeState":0}',
      { maybeInt32: 0, stringValue: '', maybeState: 'STATE_UNSPECIFIED' },
    ],
    [
      '{"anInt32":"12","aUint32":"1e3","aSint32":1.0,"aSfixed32":-0,"aFixed32":"5.0"}',
      { anInt32: 12, aUint32: 1000, aSint32: 1, aFixed32: 5 },
    ],
    [
      '{"anInt64":9007199254740991,"aSint64":"-9223372036854775808","aUint64":"18446744073709551615","textInt64":"7"}',
      {
        anInt64: '9007199254740991',
        aSint64: '-9223372036854775808',
        aUint64: '18446744073709551615',
        textInt64: '7',
      },
    ],
    ['{"aDouble":1e308,"aFloat":"NaN"}', { aDouble: 1e308, aFloat: 'NaN' }],
    ['{"aDouble":"-Infinity","aFloat":"1.5"}', { aDouble: '-Infinity', aFloat: 1.5 }],
    ['{"aDouble":1e-400,"aFloat":-0}', { aFloat: -0 }],
    ['{"aBytes":"-_8"}', { aBytes: '+/8=' }],
    ['{"state":"open"}', { state: 'STATE_OPEN' }],
    ['{"state":"STATE_OPEN"}', { state: 'STATE_OPEN' }],
    [
      '{"states":[1,"open","STATE_CLOSED",77]}',
      { states: ['STATE_OPEN', 'STATE_OPEN', 'STATE_CLOSED', 77] },
    ],
    [
      '{"byBool":{"true":"open","false":2}}',
      { byBool: { true: 'STATE_OPEN', false: 'STATE_CLOSED' } },
    ],
    [
      '{"legacy":{"closed":"CLOSED_TWO","level":7,"detail":{"text":"x"}}}',
      { legacy: { level: 7, closed: 'CLOSED_TWO', detail: { text: 'x' } } },
    ],
    ['{"mask":"aB,c_d,e.fG"}', { mask: 'aB,cD,e.fG' }],
    ['{"mask":"","masks":["","a_b"]}', { mask: '', masks: ['', 'aB'] }],
    [
      '{"timestamp":"2024-01-01T00:00:00.000000001+01:00"}',
      { timestamp: '2023-12-31T23:00:00.000000001Z' },
    ],
    ['{"duration":"-1.5s"}', { duration: '-1.500s' }],
    ['{"value":null,"nullValue":null,"values":[null,1]}', { value: null, values: [null, 1] }],
    ['{"valueByString":{"a":null,"b":[{}]}}', { valueByString: { a: null, b: [{}] } }],
    [
      '{"struct":{"a":[null,{"b":1}]},"structs":[{"c":"d"}],"listValue":[1,"x",null]}',
      { struct: { a: [null, { b: 1 }] }, structs: [{ c: 'd' }], listValue: [1, 'x', null] },
    ],
    ['{"choiceString":null,"choiceInt64":"5","choiceLeaf":null}', { choiceInt64: '5' }],
    ['{"choiceNull":null}', { choiceNull: null }],
    ['{"choiceWrapper":""}', { choiceWrapper: '' }],
    ['{"choiceStruct":{"a":1}}', { choiceStruct: { a: 1 } }],
    [
      '{"byInt32":{"-1":{"id":"x"}},"byUint64":{"18446744073709551615":"1s"}}',
      { byInt32: { '-1': { id: 'x' } }, byUint64: { '18446744073709551615': '1s' } },
    ],
    ['{"int64Values":["1",2],"int64Value":"3"}', { int64Values: ['1', '2'], int64Value: '3' }],
    ['{"any":{}}', { any: {} }],
    [
      '{"any":{"@type":"type.googleapis.com/test.Leaf","id":"x","nope":1}}',
      { any: { '@type': 'type.googleapis.com/test.Leaf', id: 'x' } },
    ],
    [
      '{"any":{"value":"a_b","@type":"type.googleapis.com/google.protobuf.FieldMask"}}',
      { any: { '@type': 'type.googleapis.com/google.protobuf.FieldMask', value: 'aB' } },
    ],
    [
      '{"any":{"@type":"type.googleapis.com/google.protobuf.Any","value":{"@type":"x/test.Leaf","count":1}}}',
      {
        any: {
          '@type': 'type.googleapis.com/google.protobuf.Any',
          value: { '@type': 'type.googleapis.com/test.Leaf', count: 1 },
        },
      },
    ],
    ['{"aString":"\\ud83d\\ude00"}', { aString: '\u{1f600}' }],
    ['{"aString":"\\\\ud83d \\" {[:,"}', { aString: '\\ud83d " {[:,' }],
    ['{"empty":{"x":1}}', { empty: {} }],
  ])('%s is read', (body, expected) => {
    expect(read(body)).toStrictEqual(expected)
  })

  it.each([
    [' ', 'the body is not one JSON value'],
    ['{} {}', 'the body is not one JSON value'],
    ["{'a':1}", 'the body is not one JSON value'],
    ['{"aString":"x', 'the body is not one JSON value'],
    ['\ufeff{}', 'the body is not one JSON value'],
    ['"text"', 'expected an object'],
    ['[]', 'expected an object'],
    ['{"aString":1}', 'aString: expected a string'],
    ['{"aBool":"true"}', 'aBool: expected true or false'],
    ['{"aBool":1}', 'aBool: expected true or false'],
    ['{"aBytes":"a"}', 'aBytes: expected base64'],
    ['{"aBytes":[1]}', 'aBytes: expected base64'],
    ['{"anInt32":2147483648}', 'anInt32: expected a 32-bit integer'],
    ['{"anInt32":1.5}', 'anInt32: expected a 32-bit integer'],
    ['{"anInt32":""}', 'anInt32: expected a 32-bit integer'],
    ['{"anInt32":" 1"}', 'anInt32: expected a 32-bit integer'],
    ['{"anInt32":"0x10"}', 'anInt32: expected a 32-bit integer'],
    ['{"anInt32":true}', 'anInt32: expected a 32-bit integer'],
    ['{"aUint32":-1}', 'aUint32: expected an unsigned 32-bit integer'],
    // 2^53+1 would be read as 2^53.
    ['{"anInt64":9007199254740993}', 'anInt64: expected a string for numbers beyond 2^53-1'],
    ['{"anInt64":"9223372036854775808"}', 'anInt64: expected a 64-bit integer'],
    ['{"aUint64":"-1"}', 'aUint64: expected an unsigned 64-bit integer'],
    ['{"textInt64":"x"}', 'textInt64: expected a 64-bit integer'],
    ['{"aDouble":1e400}', 'JSON with a number that is out of range'],
    ['{"aDouble":"1e400"}', 'aDouble: expected a number'],
    ['{"aFloat":3.5e38}', 'aFloat: expected a 32-bit number'],
    ['{"state":"STATE_NOPE"}', 'state: expected a value of test.State'],
    ['{"state":1.5}', 'state: expected a value of test.State'],
    ['{"state":"1"}', 'state: expected a value of test.State'],
    ['{"states":["open","nope"]}', 'states[1]: expected a value of test.State'],
    ['{"byBool":{"true":"nope"}}', 'byBool["true"]: expected a value of test.State'],
    ['{"legacy":{"closed":3}}', 'legacy.closed: expected a value of test.Closed'],
    ['{"leaf":[]}', 'leaf: expected an object'],
    ['{"leaf":{"leaf":{"count":"x"}}}', 'leaf.leaf.count: expected a 32-bit integer'],
    ['{"leaves":[{},{"count":"x"}]}', 'leaves[1].count: expected a 32-bit integer'],
    ['{"leaves":{}}', 'leaves: expected an array'],
    ['{"strings":["a",null]}', 'strings[1]: expected a value, not null'],
    ['{"leaves":[null]}', 'leaves[0]: expected a value, not null'],
    ['{"byString":{"a":null}}', 'byString["a"]: expected a value, not null'],
    ['{"byString":[]}', 'byString: expected an object'],
    ['{"byBool":{"1":0}}', 'byBool["1"]: expected true or false as a key'],
    ['{"byInt32":{"x":{}}}', 'byInt32["x"]: expected a 32-bit integer as a key'],
    ['{"byInt32":{"1":{},"01":{}}}', 'byInt32["01"]: key used twice'],
    ['{"timestamp":"2024-02-30T00:00:00Z"}', 'timestamp: expected an RFC 3339 timestamp'],
    ['{"timestamp":"2024-01-01t00:00:00z"}', 'timestamp: expected an RFC 3339 timestamp'],
    ['{"timestamp":5}', 'timestamp: expected an RFC 3339 timestamp'],
    ['{"duration":"1s!"}', 'duration: expected seconds with the suffix s'],
    ['{"mask":["a"]}', 'mask: expected field paths separated by commas'],
    ['{"struct":[]}', 'struct: expected an object'],
    ['{"listValue":{}}', 'listValue: expected an array'],
    ['{"any":{"id":"x"}}', 'any.@type: expected the URL of a known type'],
    ['{"any":{"@type":"x/test.Nope"}}', 'any.@type: expected the URL of a known type'],
    ['{"any":{"@type":"x/google.protobuf.Duration"}}', 'any.value: expected a value'],
    [
      '{"any":{"@type":"x/google.protobuf.Duration","value":1}}',
      'any.value: expected seconds with the suffix s',
    ],
    [
      '{"any":{"@type":"x/test.Everything","state":"nope"}}',
      'any.state: expected a value of test.State',
    ],
    ['{"any":{"@type":"x/test.Strict"}}', 'any: expected a complete test.Strict'],
    ['{"aString":"x","a_string":"y"}', 'a_string: set by both of its names'],
    ['{"aString":"x","aString":"y"}', 'JSON with a member name used twice'],
    ['{"aString":"x","aStrin\\u0067":"y"}', 'JSON with a member name used twice'],
    ['{"nope":[{"a":1,"a":1}]}', 'JSON with a member name used twice'],
    ['{"byString":{"a":"1","a":"2"}}', 'JSON with a member name used twice'],
    ['{"choiceString":"x","choiceInt64":1}', 'choiceInt64: another member of oneof choice is set'],
    ['{"choiceLeaf":{},"otherLeaf":{}}', 'otherLeaf: another member of oneof choice is set'],
    ['{"aString":"\\ud83d"}', 'JSON with an unpaired surrogate'],
    ['{"byString":{"\\ude00":"x"}}', 'JSON with an unpaired surrogate'],
  ])('%s is refused', (body, message) => {
    expect(() => read(body)).toThrow(FieldError)
    expect(() => read(body)).toThrow(message)
  })

  it.each([
    ['a stray continuation byte', [0x7b, 0x7d, 0x80]],
    ['an overlong form', [0x22, 0xc0, 0xaf, 0x22]],
    ['half a surrogate pair', [0x22, 0xed, 0xa0, 0x80, 0x22]],
    ['a truncated sequence', [0x22, 0xe2, 0x82]],
  ])('with %s is not UTF-8', (_, bytes) => {
    expect(() => read(Uint8Array.from(bytes))).toThrow('the body is not UTF-8')
  })

  it.each([
    ['value', 99, (depth: number) => `{"value":${'['.repeat(depth)}${']'.repeat(depth)}}`],
    ['list_value', 99, (depth: number) => `{"listValue":${'['.repeat(depth)}${']'.repeat(depth)}}`],
    ['unknown', 99, (depth: number) => `{"x":${'['.repeat(depth)}${']'.repeat(depth)}}`],
    ['self', 99, (depth: number) => `${'{"self":'.repeat(depth)}{}${'}'.repeat(depth)}`],
    // Each level of a Struct is an object and two messages.
    [
      'struct',
      99,
      (depth: number) => `{"struct":${'{"x":'.repeat(depth - 1)}{}${'}'.repeat(depth)}`,
    ],
  ])('nested 100 deep under %s is read, deeper is refused', (_, depth, body) => {
    expect(() => read(body(depth))).not.toThrow()
    expect(() => read(body(depth + 1))).toThrow('JSON nested deeper than 100')
    expect(() => read(body(1_000_000))).toThrow('JSON nested deeper than 100')
  })

  it('is read in linear time despite long numbers and strings', () => {
    expect(() => read(`{"anInt64":"${'9'.repeat(1_000_000)}"}`)).toThrow(
      'anInt64: expected a 64-bit integer',
    )
    expect(() => read(`"${'\\'.repeat(1_000_000)}`)).toThrow('the body is not one JSON value')
  })

  it('keeps names of object properties as keys', () => {
    const body =
      '{"byString":{"__proto__":"a","constructor":"b","toString":"c"},"struct":{"__proto__":{"x":1}}}'
    const message = readMessage(body) as unknown as { byString: object; struct: object }
    expect(Object.entries(message.byString)).toEqual([
      ['__proto__', 'a'],
      ['constructor', 'b'],
      ['toString', 'c'],
    ])
    expect(Object.keys(message.struct)).toEqual(['__proto__'])
    expect(Object.prototype).not.toHaveProperty('x')
    expect(read('{"__proto__":{"aString":"x"},"constructor":1}')).toEqual({})
  })

  it('agrees with protobuf-es where both accept a text', () => {
    const json: JsonValue = {
      aString: 'x',
      aBytes: 'AAEC',
      aDouble: 1.5,
      anInt64: '-5',
      textInt64: '6',
      state: 'STATE_CLOSED',
      maybeString: '',
      leaf: { id: 'a', leaf: { count: 3 } },
      timestamp: '2024-01-01T00:00:00Z',
      struct: { a: [1, null] },
      value: { b: true },
      bytesValue: 'AA==',
      int64Values: ['1'],
      structs: [{}],
      values: [null],
      byInt32: { 5: { id: 'b' } },
      byUint64: { 6: '1.500s' },
      choiceStruct: { c: 'd' },
      legacy: { level: 1 },
    }
    expect(equals(everything, readMessage(JSON.stringify(json)), fromJson(everything, json))).toBe(
      true,
    )
  })
})

describe('a body for one field', () => {
  it.each([
    ['leaf', '{"id":"x"}', { leaf: { id: 'x' } }],
    ['leaf', 'null', {}],
    ['leaf', '', {}],
    ['a_string', '"x"', { aString: 'x' }],
    ['an_int64', '5', { anInt64: '5' }],
    ['a_bool', 'true', { aBool: true }],
    ['state', '"open"', { state: 'STATE_OPEN' }],
    ['strings', '["a","b"]', { strings: ['a', 'b'] }],
    ['strings', 'null', {}],
    ['by_string', '{"a":"b"}', { byString: { a: 'b' } }],
    ['timestamp', '"2024-01-01T00:00:00Z"', { timestamp: '2024-01-01T00:00:00Z' }],
    ['string_value', '""', { stringValue: '' }],
    ['struct', '{"a":1}', { struct: { a: 1 } }],
    ['value', 'null', { value: null }],
    ['choice_leaf', '{}', { choiceLeaf: {} }],
  ])('%s is read from %s', (rule, body, expected) => {
    expect(read(body, rule)).toEqual(expected)
  })

  it.each([
    ['leaf', '[]', 'leaf: expected an object'],
    ['leaf', '{"count":"x"}', 'leaf.count: expected a 32-bit integer'],
    ['strings', '["a",1]', 'strings[1]: expected a string'],
    ['state', '"nope"', 'state: expected a value of test.State'],
  ])('%s is refused %s', (rule, body, message) => {
    expect(() => read(body, rule)).toThrow(message)
  })

  it('does not compile for a missing field', () => {
    expect(() => compileBodyReader(everything, 'nope', createRegistry())).toThrow(
      'test.Everything has no field nope',
    )
  })
})

describe('a body for a well-known type', () => {
  it.each([
    ['google.protobuf.Struct', '{"a":[1]}', { a: [1] }],
    ['google.protobuf.ListValue', '[1,null]', [1, null]],
    ['google.protobuf.Value', 'null', null],
    ['google.protobuf.Timestamp', '"2024-01-01T00:00:00Z"', '2024-01-01T00:00:00Z'],
    ['google.protobuf.Int64Value', '5', '5'],
    ['google.protobuf.Empty', '{}', {}],
  ])('%s is read from %s', (typeName, body, expected) => {
    const desc = messageOf(registry, typeName)
    expect(toJson(desc, readMessage(body, '*', desc))).toEqual(expected)
  })
})
