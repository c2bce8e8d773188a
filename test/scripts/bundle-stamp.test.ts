import { rm, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { unlessUpToDate } from '../../scripts/setup/bundle-stamp.mjs'
import { withFolder } from '../support/process.ts'

/** Writes a source that was changed a minute ago. */
async function writeSource(path: string, text: string) {
  await writeFile(path, text)
  const time = Date.now() / 1000 - 60
  await utimes(path, time, time)
}

/** Runs work with a bundler that reads `in.ts` and writes `out.js`, and counts its runs. */
async function withBundler(
  work: (bundler: {
    bundle: () => Promise<string>
    runs: () => number
    path: (name: string) => string
    refuseNext: () => void
    /** Does something while the bundler runs for the next time. */
    during: (work: () => Promise<void>) => void
  }) => Promise<void>,
): Promise<void> {
  await withFolder(async (folder) => {
    const path = (name: string) => join(folder, name)
    await writeSource(path('in.ts'), 'one')
    let runs = 0
    let duringNext = async () => {}
    let refusal: Error | undefined
    const build = async () => {
      runs++
      if (refusal !== undefined) throw refusal
      await writeFile(path('out.js'), 'bundle')
      await duringNext()
      duringNext = async () => {}
      return { inputs: ['in.ts'], outputs: ['out.js'], result: 'built' }
    }
    await work({
      bundle: () => unlessUpToDate(path('dist/.stamp'), build, folder),
      runs: () => runs,
      path,
      refuseNext: () => {
        refusal = new Error('does not compile')
      },
      during: (meanwhile) => {
        duringNext = meanwhile
      },
    })
  })
}

describe('a bundle', () => {
  it('is built once while its sources stay', () =>
    withBundler(async ({ bundle, runs }) => {
      expect(await bundle()).toBe('built')
      expect(await bundle()).toBe('up to date')
      expect(runs()).toBe(1)
    }))

  it.each([
    ['a source', 'in.ts'],
    ['the lock file', 'package-lock.json'],
    ['the options of the compiler', 'tsconfig.json'],
  ])('is built again when %s changes', (_, name) =>
    withBundler(async ({ bundle, path }) => {
      await bundle()
      await writeSource(path(name), 'two')
      expect(await bundle()).toBe('built')
    }),
  )

  it.each(['in.ts', 'out.js'])('is built again when %s is gone', (name) =>
    withBundler(async ({ bundle, path }) => {
      await bundle()
      await rm(path(name))
      expect(await bundle()).toBe('built')
    }),
  )

  it('is built again when a source changed while the bundler ran', () =>
    withBundler(async ({ bundle, path, during }) => {
      during(() => writeFile(path('in.ts'), 'two'))
      expect(await bundle()).toBe('built')
      await writeSource(path('in.ts'), 'two')
      expect(await bundle()).toBe('built')
      expect(await bundle()).toBe('up to date')
    }))

  it('is not up to date after a build that failed, though its sources are what they were', () =>
    withBundler(async ({ bundle, path, refuseNext }) => {
      await bundle()
      await writeSource(path('in.ts'), 'two')
      refuseNext()
      await expect(bundle()).rejects.toThrow('does not compile')
      await writeSource(path('in.ts'), 'one')
      await expect(bundle()).rejects.toThrow('does not compile')
    }))
})
