import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import {
  create,
  type DescFile,
  type DescMessage,
  fromBinary,
  type Message,
  ScalarType,
  toBinary,
} from '@bufbuild/protobuf'
import { nestedTypes, reflect, type ScalarValue } from '@bufbuild/protobuf/reflect'
import { StructSchema, ValueSchema } from '@bufbuild/protobuf/wkt'
import { build } from 'esbuild'
import { beforeAll, describe, expect, it } from 'vitest'
import { readFiles, shortMessages } from '../../../scripts/setup/bundle-messages.mjs'
import type * as messages from '../../../src/web/api/messages.ts'

const ROOT = new URL('../../..', import.meta.url).pathname

/** What pages have: the short modules, and what reads and writes messages. */
type Bundled = Pick<typeof messages, 'decode' | 'encode'> &
  Readonly<Record<string, messages.MessageType>>

describe('messages in the browser', () => {
  let bundled: Bundled
  let descriptors: readonly DescMessage[]

  beforeAll(async () => {
    const folder = join(ROOT, 'gen/branchline/v1')
    const modules = readdirSync(folder).map((name) => `./gen/branchline/v1/${name}`)
    const { outputFiles } = await build({
      stdin: {
        contents: ['./src/web/api/messages.ts', ...modules]
          .map((path) => `export * from '${path}'`)
          .join('\n'),
        resolveDir: ROOT,
      },
      bundle: true,
      format: 'esm',
      write: false,
      plugins: [shortMessages()],
    })
    const source = Buffer.from(outputFiles[0]?.contents ?? []).toString('base64')
    bundled = await import(/* @vite-ignore */ `data:text/javascript;base64,${source}`)
    const files: ReadonlyMap<string, DescFile> = await readFiles()
    descriptors = [...files.values()]
      .filter(({ name }) => name.startsWith('branchline/v1/'))
      .flatMap((file) => [...nestedTypes(file)])
      .filter((type) => type.kind === 'message')
      .filter(({ proto }) => proto.options?.mapEntry !== true)
  })

  const typeOf = ({ typeName }: DescMessage): messages.MessageType => {
    const type = bundled[`${typeName.replace('branchline.v1.', '').replaceAll('.', '_')}Schema`]
    if (!type) throw new Error(`the bundle lacks ${typeName}`)
    return type
  }

  it('are read as the package for Protobuf reads them', () => {
    expect(descriptors.length).toBeGreaterThan(500)
    for (const desc of descriptors)
      for (const message of [create(desc), sample(desc)]) {
        const bytes = toBinary(desc, message)
        expect(bundled.decode(typeOf(desc), bytes), desc.typeName).toEqual(fromBinary(desc, bytes))
      }
  })

  it('are written so that the package for Protobuf reads the same', () => {
    for (const desc of descriptors) {
      const message = sample(desc)
      const bytes = bundled.encode(typeOf(desc), message)
      expect(fromBinary(desc, bytes), desc.typeName).toEqual(
        fromBinary(desc, toBinary(desc, message)),
      )
    }
  })

  it('have no fields that a newer server has, and end where the bytes end', () => {
    const desc = descriptors.find(({ typeName }) => typeName === 'branchline.v1.User')
    if (!desc) throw new Error('there is no User')
    const type = typeOf(desc)
    const bytes = bundled.encode(type, { id: 7n, login: 'ada' })
    // A text, a number, 8 bytes and 4 bytes under numbers that no field has.
    const unknown = [0x82, 0x7d, 1, 65, 0x80, 0x7d, 5, 0x81, 0x7d, 1, 2, 3, 4, 5, 6, 7, 8]
    const more = Uint8Array.from([...bytes, ...unknown, 0x85, 0x7d, 1, 2, 3, 4])
    expect(bundled.decode(type, more)).toEqual(bundled.decode(type, bytes))
    expect(() => bundled.decode(type, bytes.subarray(0, -1))).toThrow(RangeError)
  })
})

/** Values at the limits of each type. */
const SCALARS: Readonly<Partial<Record<ScalarType, ScalarValue>>> = {
  [ScalarType.BOOL]: true,
  [ScalarType.BYTES]: Uint8Array.of(0, 127, 128, 255),
  [ScalarType.DOUBLE]: -0.1,
  [ScalarType.INT32]: -2_147_483_648,
  [ScalarType.INT64]: -9_223_372_036_854_775_808n,
  [ScalarType.STRING]: '\uFEFFa\u0000ü🦊',
  [ScalarType.UINT32]: 4_294_967_295,
  [ScalarType.UINT64]: 18_446_744_073_709_551_615n,
}

/** Returns a message whose fields all have a value. */
function sample(desc: DescMessage, depth = 0): Message {
  if (desc.typeName === StructSchema.typeName || desc.typeName === ValueSchema.typeName)
    return fromBinary(desc, desc.typeName === StructSchema.typeName ? STRUCT : VALUE)
  const message = reflect(desc)
  const scalar = (type: ScalarType) => SCALARS[type] ?? 0
  const part = (type: DescMessage) => reflect(type, sample(type, depth + 1))
  for (const field of desc.fields) {
    // Messages contain messages of their own type.
    if (field.message && depth > 2) continue
    switch (field.fieldKind) {
      case 'scalar':
        message.set(field, scalar(field.scalar))
        break
      case 'enum':
        message.set(field, field.enum.values.at(-1)?.number ?? 0)
        break
      case 'message':
        message.set(field, part(field.message))
        break
      case 'list': {
        const list = message.get(field)
        for (let i = 0; i < 2; i++)
          list.add(
            field.listKind === 'message'
              ? part(field.message)
              : field.listKind === 'enum'
                ? i
                : scalar(field.scalar),
          )
        break
      }
      case 'map': {
        const value = field.mapKind === 'scalar' ? scalar(field.scalar) : 0
        message.get(field).set('constructor', value).set('', value)
      }
    }
  }
  return message.message
}

const STRUCT = toBinary(
  StructSchema,
  create(StructSchema, {
    fields: {
      none: { kind: { case: 'nullValue', value: 0 } },
      text: { kind: { case: 'stringValue', value: 'ü' } },
      list: {
        kind: {
          case: 'listValue',
          value: { values: [{ kind: { case: 'boolValue', value: false } }] },
        },
      },
      number: { kind: { case: 'numberValue', value: 0.5 } },
      object: { kind: { case: 'structValue', value: { fields: {} } } },
    },
  }),
)

const VALUE = toBinary(
  ValueSchema,
  create(ValueSchema, { kind: { case: 'structValue', value: { fields: {} } } }),
)
