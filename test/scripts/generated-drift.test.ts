import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { differences } from '../../scripts/checks/generated-drift.mjs'

describe('the differences between two folders', () => {
  let folder: string
  const write = (file: string, text: string) => {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), text)
  }

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'branchline-drift-'))
    write('wanted/a.ts', 'a')
    write('wanted/v1/b.ts', 'b')
    write('found/a.ts', 'a')
    write('found/v1/b.ts', 'b')
  })

  afterEach(() => rmSync(folder, { recursive: true }))

  it.each([
    ['none when they hold the same files', () => {}, []],
    ['a file that changed', () => write('found/v1/b.ts', 'B'), ['out of date: v1/b.ts']],
    ['a file that is not there', () => write('wanted/c.ts', 'c'), ['missing: c.ts']],
    [
      'a file that nothing generates any more',
      () => write('found/v1/c.ts', 'c'),
      ['left over: v1/c.ts'],
    ],
  ])('are %s', (_, change, lines) => {
    change()
    expect(differences(join(folder, 'wanted'), join(folder, 'found'))).toEqual(lines)
  })
})
