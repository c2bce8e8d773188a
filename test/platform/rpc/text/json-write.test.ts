import type { DescField, JsonValue, Message } from '@bufbuild/protobuf'
import {
  create,
  createRegistry,
  fromJson,
  isFieldSet,
  ScalarType,
  toJson,
} from '@bufbuild/protobuf'
import type { ReflectMessage } from '@bufbuild/protobuf/reflect'
import { reflect } from '@bufbuild/protobuf/reflect'
import { AnySchema, anyPack } from '@bufbuild/protobuf/wkt'
import { describe, expect, it } from 'vitest'
import type { Dialect } from '../../../../src/platform/rpc/rest/schema/dialect.ts'
import { standardDialect } from '../../../../src/platform/rpc/rest/schema/dialect.ts'
import { compileBodyReader } from '../../../../src/platform/rpc/text/json-read.ts'
import {
  compileFieldPartsWriter,
  compileFieldWriter,
  compilePartsWriter,
  compileWriter,
} from '../../../../src/platform/rpc/text/json-write.ts'
import { everything, registry } from '../rest/everything.ts'
import { compileSchema, messageOf } from '../rest/schema.ts'

const overrides = messageOf(registry, 'test.Overrides')

function write(json: JsonValue, dialect: Partial<Dialect> = {}, desc = everything) {
  const form = { ...standardDialect, ...dialect }
  const message = fromJson(desc, json, { registry })
  const text = compileWriter(desc, form, registry)(message)
  expect([...compilePartsWriter(desc, form, registry)(message)].join('')).toBe(text)
  return text
}

describe('a writer', () => {
  it('prints a message that the elements of a list share as it is at that moment', () => {
    const shared = create(messageOf(registry, 'test.Leaf'), { id: 'one' })
    const list = create(everything, { leaves: [{ leaf: shared }, { leaf: shared }] })
    const print = compileWriter(everything, standardDialect, registry)
    const before = print(list)
    Object.assign(shared, { id: 'two' })
    expect([before, print(list)]).toEqual([
      '{"leaves":[{"leaf":{"id":"one"}},{"leaf":{"id":"one"}}]}',
      '{"leaves":[{"leaf":{"id":"two"}},{"leaf":{"id":"two"}}]}',
    ])
  })

  it('in parts keeps its texts apart from those of messages printed between the parts', () => {
    const shared = create(messageOf(registry, 'test.Leaf'), { id: 'one' })
    const list = create(everything, { leaves: [{ leaf: shared }, { leaf: shared }] })
    const parts = compilePartsWriter(everything, standardDialect, registry)
    const other = () => [...parts(create(everything, { leaves: [{ leaf: { id: 'other' } }, {}] }))]
    const printed: string[] = []
    for (const part of parts(list)) {
      other()
      printed.push(part)
    }
    expect(printed.join('')).toBe('{"leaves":[{"leaf":{"id":"one"}},{"leaf":{"id":"one"}}]}')
  })

  it.each([
    ['{}', {}],
    // Numbers, not places in the file, order the members.
    [
      '{"other-name":"a","early":"b","maybeString":""}',
      { maybeString: '', early: 'b', 'other-name': 'a' },
    ],
    ['{"state":"open"}', { state: 'STATE_OPEN' }],
    ['{"states":["open","STATE_CLOSED",77]}', { states: [1, 2, 77] }],
    ['{"anInt64":"-9007199254740993"}', { anInt64: '-9007199254740993' }],
    ['{"aFloat":1.5,"aDouble":"NaN"}', { aFloat: 1.5, aDouble: 'NaN' }],
    ['{"aFloat":"-Infinity","aDouble":1e+300}', { aFloat: '-Infinity', aDouble: 1e300 }],
    ['{"aFloat":-0,"aDouble":5e-324}', { aFloat: -0, aDouble: 5e-324 }],
    ['{"aBytes":"+/8="}', { aBytes: '-_8' }],
    ['{"nullValue":null}', undefined],
    ['{"timestamp":"0001-01-01T00:00:00Z"}', { timestamp: '0001-01-01T00:00:00Z' }],
    [
      '{"timestamp":"9999-12-31T23:59:59.999999999Z"}',
      { timestamp: '9999-12-31T23:59:59.999999999Z' },
    ],
    ['{"timestamp":"1969-12-31T23:59:59.100Z"}', { timestamp: '1969-12-31T23:59:59.1Z' }],
    ['{"timestamp":"2024-02-29T01:02:03.000400Z"}', { timestamp: '2024-02-29T01:02:03.0004Z' }],
    ['{"duration":"-0.500s"}', { duration: '-0.5s' }],
    ['{"duration":"315576000000s"}', { duration: '315576000000s' }],
    ['{"mask":"aB,c.dE"}', { mask: 'aB,c.dE' }],
    [
      '{"struct":{"a":[null,1]},"value":null,"listValue":["x"]}',
      { struct: { a: [null, 1] }, value: null, listValue: ['x'] },
    ],
    ['{"stringValue":"","int64Value":"5"}', { stringValue: '', int64Value: '5' }],
    [
      '{"byInt32":{"-1":{"id":"x"}},"byBool":{"true":"open"}}',
      { byInt32: { '-1': { id: 'x' } }, byBool: { true: 1 } },
    ],
    ['{"choiceLeaf":{}}', { choiceLeaf: {} }],
    ['{"choiceNull":null}', { choiceNull: null }],
    [
      '{"legacy":{"closed":"CLOSED_TWO","detail":{"text":"x"}}}',
      { legacy: { closed: 2, detail: { text: 'x' } } },
    ],
    [
      '{"any":{"@type":"type.googleapis.com/test.Leaf","id":"x"}}',
      { any: { '@type': 'x/test.Leaf', id: 'x' } },
    ],
    ['{"any":{"@type":"type.googleapis.com/test.Leaf"}}', { any: { '@type': 'x/test.Leaf' } }],
    [
      '{"any":{"@type":"type.googleapis.com/google.protobuf.Duration","value":"1s"}}',
      { any: { '@type': 'x/google.protobuf.Duration', value: '1s' } },
    ],
    ['{"any":{}}', { any: {} }],
  ])('prints %s', (text, json) => {
    expect(write(json ?? {})).toBe(json === undefined ? '{}' : text)
  })

  it.each([
    'plain',
    '"',
    '\\',
    '\n\u0000\u001f\u007f',
    'é\u2028\u{1f600}',
    '\ud800',
    '\udfff x',
    'x'.repeat(100),
    '"'.repeat(100),
  ])('escapes the string %j like JSON.stringify', (text) => {
    const message = create(everything, { aString: text, byString: { [text]: text } })
    expect(compileWriter(everything, standardDialect, registry)(message)).toBe(
      JSON.stringify({ aString: text, byString: { [text]: text } }),
    )
  })

  it.each([
    [{ names: 'original' }, { aString: 'x', 'other-name': 'y' }, '{"a_string":"x","renamed":"y"}'],
    [
      { int64: 'number' },
      { anInt64: '5', textInt64: '-6', int64s: ['7'] },
      '{"anInt64":5,"textInt64":-6,"int64s":[7]}',
    ],
    [{ int64: 'number' }, { anInt64: '9007199254740991' }, '{"anInt64":9007199254740991}'],
    [{ int64: 'number' }, { anInt64: '9007199254740992' }, '{"anInt64":"9007199254740992"}'],
    [{ int64: 'number' }, { anInt64: '-9007199254740993' }, '{"anInt64":"-9007199254740993"}'],
    [
      { int64: 'number' },
      { aUint64: '18446744073709551615' },
      '{"aUint64":"18446744073709551615"}',
    ],
    [
      { int64: 'number' },
      { int64Value: '5', uint64Value: '6' },
      '{"int64Value":5,"uint64Value":6}',
    ],
    [
      { int64: 'number' },
      { int64Values: ['5'], choiceInt64: '7' },
      '{"int64Values":[5],"choiceInt64":7}',
    ],
    // Names of members are strings in any dialect.
    [{ int64: 'number' }, { byUint64: { 5: '1s' } }, '{"byUint64":{"5":"1s"}}'],
    [{ names: 'original' }, { struct: { aB: 1 }, mask: 'aB' }, '{"mask":"aB","struct":{"aB":1}}'],
    [
      { names: 'original', int64: 'number' },
      { any: { '@type': 'x/test.Everything', anInt64: '5' } },
      '{"any":{"@type":"type.googleapis.com/test.Everything","an_int64":5}}',
    ],
    [
      { names: 'original' },
      { self: { self: { aBool: true } } },
      '{"self":{"self":{"a_bool":true}}}',
    ],
  ] as const)('in the dialect %j prints %j', (dialect, json, text) => {
    expect(write(json as JsonValue, dialect)).toBe(text)
  })

  it.each([
    [{ scalars: 'default' }, '{"id":"","count":0}'],
    [{ messages: 'null' }, '{"leaf":null}'],
    [{ scalars: 'default', messages: 'null' }, '{"id":"","count":0,"leaf":null}'],
  ] as const)('in the dialect %j prints what is unset, at any depth', (dialect, text) => {
    const leaf = messageOf(registry, 'test.Leaf')
    expect(write({}, dialect, leaf)).toBe(text)
    expect(JSON.parse(write({ leaves: [{}] }, dialect)).leaves).toEqual([JSON.parse(text)])
  })

  it('lets a field have its own spelling, and leaves out what only RPC has', () => {
    const spelled = compileSchema(`
      syntax = "proto3";
      package spelled;
      import "rest/v1/rest.proto";
      message Merge {
        string do = 1 [json_name = "Do", (rest.v1.field).names = LOWER_CAMEL];
        string merge_style = 2;
        string other_name = 3 [(rest.v1.field).names = ORIGINAL];
        int32 limit = 4 [(rest.v1.field).rpc_only = true];
      }
    `)
    const merge = messageOf(spelled, 'spelled.Merge')
    const value = { Do: 'squash', mergeStyle: 'a', otherName: 'b', limit: 3 }
    expect([
      write(value, { names: 'original' }, merge),
      write(value, { names: 'lowerCamel' }, merge),
    ]).toEqual([
      '{"Do":"squash","merge_style":"a","other_name":"b"}',
      '{"Do":"squash","mergeStyle":"a","other_name":"b"}',
    ])
  })

  it('prints each kind of unset field by the dialect', () => {
    const unset = (dialect: Partial<Dialect>) => JSON.parse(write({}, dialect))
    const names = (kind: (field: DescField) => boolean) =>
      everything.fields.filter(kind).map((field) => field.jsonName)
    const isList = (field: DescField) => field.fieldKind === 'list'
    const isMap = (field: DescField) => field.fieldKind === 'map'
    const isExplicit = (field: DescField) => !isList(field) && !isMap(field) && !isImplicit(field)

    expect(unset({ lists: 'default' })).toEqual(
      Object.fromEntries(names(isList).map((name) => [name, []])),
    )
    expect(unset({ lists: 'null' })).toEqual(
      Object.fromEntries(names(isList).map((name) => [name, null])),
    )
    expect(unset({ maps: 'default' })).toEqual(
      Object.fromEntries(names(isMap).map((name) => [name, {}])),
    )
    expect(unset({ maps: 'null' })).toEqual(
      Object.fromEntries(names(isMap).map((name) => [name, null])),
    )
    expect(unset({ messages: 'null' })).toEqual(
      Object.fromEntries(names(isExplicit).map((name) => [name, null])),
    )
    expect(Object.keys(unset({ scalars: 'default' }))).toEqual(
      expect.arrayContaining(names(isImplicit)),
    )
    expect(unset({ scalars: 'default' })).toMatchObject({
      aBytes: '',
      anInt64: '0',
      textInt64: '0',
      state: 'STATE_UNSPECIFIED',
    })
  })

  it('prints set fields the same in a dialect that prints unset ones', () => {
    const json = {
      aString: 'x',
      strings: ['a'],
      byString: { a: 'b' },
      leaf: { id: 'x', count: 1, leaf: {} },
    }
    const all = { scalars: 'default', lists: 'null', maps: 'null', messages: 'null' } as const
    expect(JSON.parse(write(json, all))).toMatchObject({
      aString: 'x',
      strings: ['a'],
      byString: { a: 'b' },
    })
  })

  it.each(['omit', 'default'] as const)(
    'follows the option of a field over scalars: %s',
    (scalars) => {
      expect(write({}, { scalars, messages: 'omit', lists: 'null', maps: 'null' }, overrides)).toBe(
        '{"printed":"","nulled":null,"list":[],"map":{},"self":{},"time":null,"wrapper":"0","duration":"0s",' +
          '"state":"STATE_UNSPECIFIED","maybe":"0"}',
      )
    },
  )

  it('prints the bytes of an Any of an unknown type, and of one that does not decode', () => {
    const write = compileWriter(AnySchema, standardDialect, registry)
    const known = createRegistry(messageOf(registry, 'test.Leaf'))
    const any = anyPack(everything, fromJson(everything, { aString: 'x' }))
    expect(compileWriter(AnySchema, standardDialect, known)(any)).toBe(
      '{"@type":"type.googleapis.com/test.Everything","value":"CgF4"}',
    )
    expect(write(create(AnySchema, { typeUrl: 'x/test.Leaf', value: Uint8Array.of(0xff) }))).toBe(
      '{"@type":"x/test.Leaf","value":"/w=="}',
    )
  })

  it('keeps paths of a mask that do not survive camel case', () => {
    const message = create(everything, { mask: { paths: ['a_b', 'c__d', 'e_1', 'Fg'] } })
    const text = compileWriter(everything, standardDialect, registry)(message)
    expect(text).toBe('{"mask":"aB,c__d,e_1,Fg"}')
  })

  it.each([
    { timestamp: { seconds: 253402300800n } },
    { timestamp: { seconds: 0n, nanos: -1 } },
    { timestamp: { seconds: 0n, nanos: 1_000_000_000 } },
    { duration: { seconds: 315576000001n } },
    { duration: { seconds: 1n, nanos: -1 } },
  ])('throws for a well-known type that is out of range: %o', (init) => {
    expect(() =>
      compileWriter(everything, standardDialect, registry)(create(everything, init)),
    ).toThrow(RangeError)
  })

  it('prints names of object properties as keys that the reader accepts', () => {
    const text = '{"struct":{"__proto__":{"x":1}},"byString":{"__proto__":"a","constructor":"b"}}'
    const message = create(everything)
    compileBodyReader(everything, '*', registry)(new TextEncoder().encode(text), message)
    expect(compileWriter(everything, standardDialect, registry)(message)).toBe(text)
  })

  it('is compiled once for a type and a dialect', () => {
    const writer = compileWriter(everything, standardDialect, registry)
    expect(compileWriter(everything, standardDialect, registry)).toBe(writer)
    expect(compileWriter(everything, { ...standardDialect }, registry)).not.toBe(writer)
  })
})

describe('a field writer', () => {
  it.each([
    ['strings', {}, '[]'],
    ['strings', { strings: ['a'] }, '["a"]'],
    ['leaves', { leaves: [{ id: 'x' }, {}] }, '[{"id":"x"},{}]'],
    ['by_string', {}, '{}'],
    ['by_string', { byString: { a: 'b' } }, '{"a":"b"}'],
    ['a_string', {}, '""'],
    ['a_bool', { aBool: true }, 'true'],
    ['an_int64', {}, '"0"'],
    ['state', { state: 1 }, '"open"'],
    ['leaf', {}, 'null'],
    ['leaf', { leaf: {} }, '{}'],
    ['timestamp', { timestamp: '2024-01-01T00:00:00Z' }, '"2024-01-01T00:00:00Z"'],
    ['timestamp', {}, 'null'],
    ['string_value', { stringValue: '' }, '""'],
    ['string_value', {}, 'null'],
    ['struct', { struct: {} }, '{}'],
    ['maybe_int32', {}, 'null'],
    ['maybe_int32', { maybeInt32: 0 }, '0'],
    ['choice_string', { choiceString: 'x' }, '"x"'],
    ['choice_leaf', { choiceString: 'x' }, 'null'],
    ['choice_leaf', { choiceLeaf: { count: 1 } }, '{"count":1}'],
  ])('prints %s of %j as %s', (name, json, text) => {
    const field = everything.fields.find((candidate) => candidate.name === name) as DescField
    const message = fromJson(everything, json)
    expect(compileFieldWriter(field, standardDialect, registry)(message)).toBe(text)
    const parts = compileFieldPartsWriter(field, standardDialect, registry)(message)
    expect([...parts].join('')).toBe(text)
    // What an unset member of an object prints is no matter for a body that is the field.
    const dialect = { ...standardDialect, lists: 'null', maps: 'null' } as const
    expect(compileFieldWriter(field, dialect, registry)(fromJson(everything, json))).toBe(text)
  })

  it('applies the dialect below the field', () => {
    const field = everything.field.self as DescField
    const message = fromJson(everything, { self: { anInt64: '5' } })
    const dialect = { ...standardDialect, names: 'original', int64: 'number' } as const
    expect(compileFieldWriter(field, dialect, registry)(message)).toBe('{"an_int64":5}')
  })
})

describe('random messages', () => {
  const random = mulberry32(20_240_229)
  const messages = Array.from({ length: 400 }, () => randomMessage(random, 3))

  it('print like protobuf-es except for REST texts', () => {
    const write = compileWriter(everything, standardDialect, registry)
    for (const message of messages) {
      expect(namesOfStates(JSON.parse(write(message)))).toStrictEqual(
        asParsed(toJson(everything, message, { registry })),
      )
    }
  })

  it('print like protobuf-es with all implicit fields', () => {
    const dialect = {
      ...standardDialect,
      scalars: 'default',
      lists: 'default',
      maps: 'default',
    } as const
    const write = compileWriter(everything, dialect, registry)
    for (const message of messages) {
      const expected = toJson(everything, message, { registry, alwaysEmitImplicit: true })
      expect(namesOfStates(JSON.parse(write(message)))).toStrictEqual(asParsed(expected))
    }
  })

  it.each([
    {},
    { names: 'original', int64: 'number' },
    { scalars: 'default', lists: 'null', maps: 'default' },
  ] as const)('come back from the reader as they were: %j', (dialect) => {
    const write = compileWriter(everything, { ...standardDialect, ...dialect }, registry)
    const read = compileBodyReader(everything, '*', registry)
    for (const message of messages) {
      const copy = create(everything)
      read(new TextEncoder().encode(write(message)), copy)
      expect(toJson(everything, copy, { registry })).toStrictEqual(
        toJson(everything, message, { registry }),
      )
    }
  })

  it('cover every field', () => {
    // The one value of a NullValue without presence is its default value.
    for (const field of everything.fields.filter(({ name }) => name !== 'null_value')) {
      expect(
        messages.filter((message) => isFieldSet(message, field)).length,
        field.name,
      ).toBeGreaterThan(5)
    }
  })
})

function isImplicit(field: DescField): boolean {
  return (
    (field.fieldKind === 'scalar' || field.fieldKind === 'enum') &&
    !field.oneof &&
    !field.proto.proto3Optional
  )
}

/** A JSON value without the sign of zero, which JSON.stringify drops. */
function asParsed(json: JsonValue): JsonValue {
  return JSON.parse(JSON.stringify(json))
}

/**
 * Replaces the one REST text of the schema by the name of its value. Random strings are never
 * `open`.
 */
function namesOfStates(json: JsonValue): JsonValue {
  return JSON.parse(JSON.stringify(json).replaceAll('"open"', '"STATE_OPEN"'))
}

/**
 * A small generator of random numbers in [0, 1) with a seed, so that a failure comes again
 * (mulberry32).
 */
function mulberry32(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

function randomMessage(random: () => number, depth: number): Message {
  return fillMessage(reflect(everything), random, depth).message
}

function fillMessage(message: ReflectMessage, random: () => number, depth: number): ReflectMessage {
  for (const field of message.fields) {
    if (random() < 0.4 || (field.message !== undefined && depth === 0)) continue
    if (field.fieldKind === 'list') {
      for (let count = random() * 3; count > 0; count--)
        message.get(field).add(randomElement(field, random, depth))
    } else if (field.fieldKind === 'map') {
      for (let count = random() * 3; count > 0; count--) {
        const key = randomScalar(field.mapKey, random) as string
        message.get(field).set(key, randomElement(field, random, depth))
      }
    } else if (field.oneof === undefined || random() < 0.3) {
      message.set(field, randomElement(field, random, depth) as never)
    }
  }
  return message
}

function randomElement(field: DescField, random: () => number, depth: number): never {
  if (field.enum?.typeName === 'google.protobuf.NullValue') return 0 as never
  if (field.enum !== undefined)
    return pick(random, field.enum.open ? [0, 1, 2, 77, -1] : [1, 2]) as never
  if (field.message === undefined) return randomScalar(field.scalar as ScalarType, random) as never
  const json = randomWellKnown(field.message.typeName, random)
  if (json !== undefined)
    return reflect(field.message, fromJson(field.message, json, { registry })) as never
  return fillMessage(reflect(field.message), random, depth - 1) as never
}

function randomWellKnown(typeName: string, random: () => number): JsonValue | undefined {
  const values = [null, 1.5, 'text', true, [1, [], {}], { a: { b: [null] }, '': '' }]
  switch (typeName) {
    case 'google.protobuf.Timestamp':
      return pick(random, [
        '0001-01-01T00:00:00Z',
        '1969-12-31T23:59:59.5Z',
        '2024-02-29T01:02:03.000000004Z',
      ])
    case 'google.protobuf.Duration':
      return pick(random, ['0s', '-0.25s', '-3.000001s', '315576000000.999999999s'])
    case 'google.protobuf.FieldMask':
      return pick(random, ['', 'a', 'aB.cD,e'])
    case 'google.protobuf.Struct':
      return pick(random, [{}, { a: values }])
    case 'google.protobuf.ListValue':
      return pick(random, [[], values])
    case 'google.protobuf.Value':
      return pick(random, values)
    case 'google.protobuf.Any':
      return pick<JsonValue>(random, [
        {},
        { '@type': 'type.googleapis.com/test.Leaf', id: 'x' },
        { '@type': 'type.googleapis.com/google.protobuf.Int64Value', value: '5' },
      ])
    default:
      return undefined
  }
}

function randomScalar(type: ScalarType, random: () => number): unknown {
  switch (type) {
    case ScalarType.STRING:
      return pick(random, ['', 'text', '"\\\n', '\u{1f600}é', '__proto__', 'x'.repeat(90)])
    case ScalarType.BOOL:
      return random() < 0.5
    case ScalarType.BYTES:
      return Uint8Array.from({ length: random() * 5 }, () => random() * 256)
    case ScalarType.FLOAT:
      return pick(random, [0, -0, 1.5, -2e30, Number.NaN, Number.POSITIVE_INFINITY])
    case ScalarType.DOUBLE:
      return pick(random, [0, -0, 0.1, 5e-324, Number.MAX_VALUE, Number.NEGATIVE_INFINITY])
    case ScalarType.INT32:
    case ScalarType.SINT32:
    case ScalarType.SFIXED32:
      return pick(random, [0, 1, -(2 ** 31), 2 ** 31 - 1])
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return pick(random, [0, 1, 2 ** 32 - 1])
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return pick(random, [0n, 1n, 2n ** 53n, 2n ** 64n - 1n])
    default:
      return pick(random, [0n, -1n, 2n ** 53n - 1n, -(2n ** 63n)])
  }
}

function pick<T>(random: () => number, values: readonly T[]): T {
  return values[Math.floor(random() * values.length)] as T
}
