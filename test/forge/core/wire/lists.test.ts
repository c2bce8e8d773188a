import { describe, expect, it } from 'vitest'
import {
  readPageSize,
  readPageToken,
  writePageToken,
} from '../../../../src/forge/core/wire/lists.ts'
import { testApp } from '../../../support/app.ts'

const UNSET = { defaultPageSize: undefined, maxPageSize: undefined }

describe('page sizes', () => {
  it.each([
    [0, 50],
    [1, 1],
    [1000, 1000],
    [1001, 1000],
    [2 ** 31 - 1, 1000],
  ])('of %i result in %i', (asked, applied) => {
    expect(readPageSize(UNSET, asked)).toBe(applied)
  })

  it('must not be negative', () => {
    expect(() => readPageSize(UNSET, -1)).toThrow('INVALID_PAGE_SIZE')
  })
})

describe('page tokens', () => {
  const list = { method: 'ListUsers', parent: 'users/ada', filter: 'x' }

  it('contain a sort key, in URL-safe characters', async () => {
    const app = await testApp()
    const token = writePageToken(app, list, [1_700_000_000, 42])
    expect(token).toMatch(/^[A-Za-z0-9_-]+$/)
    expect(readPageToken(app, list, token)).toEqual([1_700_000_000, 42])
    expect(readPageToken(app, list, writePageToken(app, list, [1, 'a,"b"', -5]))).toEqual([
      1,
      'a,"b"',
      -5,
    ])
    expect(readPageToken(app, list, '')).toBeUndefined()
  })

  it('are rejected for another method, parent, filter or instance, and after the change of any bit', async () => {
    const app = await testApp()
    const token = writePageToken(app, list, [1, 2])
    const changed = Buffer.from(token, 'base64url')
    changed[changed.length - 1] = (changed.at(-1) ?? 0) ^ 1
    const refused: [typeof app, typeof list, string][] = [
      [app, { ...list, method: 'ListMemos' }, token],
      [app, { ...list, parent: 'users/bob' }, token],
      [app, { ...list, filter: 'y' }, token],
      // The parts are distinguished, not just concatenated.
      [app, { method: 'ListUsersusers/ada', parent: '', filter: 'x' }, token],
      [await testApp(), list, token],
      [app, list, changed.toString('base64url')],
      [app, list, token.slice(0, -1)],
      ...['A', '=', ' '].map((more): [typeof app, typeof list, string] => [
        app,
        list,
        token + more,
      ]),
      [app, list, 'A'.repeat(100_000)],
      [app, list, '….'],
    ]
    for (const [by, from, text] of refused)
      expect(() => readPageToken(by, from, text)).toThrow('INVALID_PAGE_TOKEN')
  })
})
