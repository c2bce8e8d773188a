import { describe, expect, it } from 'vitest'
import { readReadMask, readUpdateMask } from '../../../../src/forge/core/wire/masks.ts'

const mask = (...paths: string[]) => ({ $typeName: 'google.protobuf.FieldMask' as const, paths })
const FIELDS = { mutable: ['email', 'display_name'] as const, fixed: ['name', 'create_time'] }

describe('readUpdateMask', () => {
  it.each([
    [['display_name'], ['display_name']],
    [['displayName'], ['display_name']],
    [['displayName', 'display_name'], ['display_name']],
    [['email,displayName'], ['email', 'display_name']],
    [[' email ', ''], ['email']],
    [['*'], ['email', 'display_name']],
    // Accepted, without effect.
    [['name', 'createTime'], []],
  ])('%j names %j', (paths, fields) => {
    expect([...readUpdateMask(mask(...paths), FIELDS).fields]).toEqual(fields)
  })

  it('distinguishes * from a mask that names every field', () => {
    expect(readUpdateMask(mask('*'), FIELDS).all).toBe(true)
    expect(readUpdateMask(mask('email', 'display_name'), FIELDS).all).toBe(false)
  })

  it.each([[undefined], [mask()], [mask('', ' ')]])(
    'refuses one that names nothing: %j',
    (empty) => {
      expect(() => readUpdateMask(empty, FIELDS)).toThrow('EMPTY_MASK')
    },
  )

  it.each(['nickname', 'display_name.first', '__proto__', 'constructor', 'Email', 'email*'])(
    'refuses %s',
    (path) => {
      expect(() => readUpdateMask(mask('email', path), FIELDS)).toThrow('UNKNOWN_MASK_PATH')
    },
  )
})

describe('readReadMask', () => {
  it('returns undefined for a mask that is absent, empty or a star', () => {
    for (const all of [undefined, mask(), mask('*'), mask('email', '*')]) {
      expect(readReadMask(all, ['email'])).toBeUndefined()
    }
  })

  it('rejects unknown paths', () => {
    expect(() => readReadMask(mask('password'), ['email'])).toThrow('UNKNOWN_MASK_PATH')
  })
})
