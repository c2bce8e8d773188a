import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { readRef } from '../../../../src/platform/git/refs/refs.ts'
import { readRefFile } from '../../../../src/platform/git/refs/single-refs.ts'
import {
  type Repositories,
  repositoryPath,
} from '../../../../src/platform/git/repositories/repositories.ts'
import { seededRandom } from '../../rpc/rest/random.ts'
import {
  createFilledRepository,
  git,
  settleFiles,
  storeCommit,
  testRepositories,
} from '../fixture.ts'

const ENGINE = 1

let repositories: Repositories
let ids: [string, ...string[]]

beforeEach(async () => {
  repositories = await testRepositories()
  const first = await createFilledRepository(repositories, ENGINE)
  ids = [first, await storeCommit(repositories, ENGINE, 'other')]
})

const NAMES = ['a', 'a-b', 'a.b', 'ab', 'b/c', 'b/d', 'Z', 'zz', 'größe', 'main'] as const

describe('a ref in a file', () => {
  it.each(['young', 'old'])('is found as Git finds it, in %s files', async (age) => {
    if (age === 'old') settleFiles()
    const random = seededRandom(7)
    for (let round = 0; round < 40; round++) {
      const name = `refs/${random.pick(['heads', 'tags'])}/${random.pick(NAMES)}`
      const change = random.below(5)
      if (change === 0) git(repositories, ENGINE, 'update-ref', '-d', name)
      else if (change === 1) tag(random.pick(NAMES), random.pick(ids))
      else if (change === 2) git(repositories, ENGINE, 'pack-refs', '--all')
      else git(repositories, ENGINE, 'update-ref', name, random.pick(ids))
      const expected = refsByGit()
      for (const folder of ['heads', 'tags'])
        for (const known of NAMES) {
          const ref = `refs/${folder}/${known}`
          expect(readRefFile(repositories, ENGINE, ref), `${round} ${ref}`).toBe(
            expected.get(ref) ?? 'missing',
          )
        }
    }
  })

  it.each([
    'refs/heads/../../config',
    'refs/heads/.',
    'refs/heads//main',
    'refs/heads/main.lock',
    'refs/heads/',
    'refs/heads/a\nb',
    'HEAD',
    'config',
    'refs',
  ])('is not looked for by the name %j', (name) => {
    writeFileSync(join(repositoryPath(repositories, ENGINE), 'refs/heads/main.lock'), `${ids[0]}\n`)
    expect(readRefFile(repositories, ENGINE, name)).toBeUndefined()
  })

  it('is left to libgit2 when packed refs have no order, or the repository is missing', async () => {
    const path = repositoryPath(repositories, ENGINE)
    writeFileSync(join(path, 'packed-refs'), `${ids[0]} refs/heads/z\n${ids[1]} refs/heads/b\n`)
    expect(readRefFile(repositories, ENGINE, 'refs/heads/nothing')).toBeUndefined()
    expect(await readRef(repositories, ENGINE, 'refs/heads/b')).toBe(ids[1])
    expect(readRefFile(repositories, ENGINE + 1, 'refs/heads/main')).toBeUndefined()
    await expect(readRef(repositories, ENGINE + 1, 'refs/heads/main')).rejects.toThrow()
  })

  it('is followed by libgit2 when it is symbolic', async () => {
    git(repositories, ENGINE, 'symbolic-ref', 'refs/heads/alias', 'refs/heads/main')
    expect(readRefFile(repositories, ENGINE, 'refs/heads/alias')).toBeUndefined()
    expect(await readRef(repositories, ENGINE, 'refs/heads/alias')).toBe(ids[0])
  })
})

function tag(name: string, target: string): void {
  const identity = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.org']
  git(repositories, ENGINE, ...identity, 'tag', '-f', '-a', '-m', 'a tag', name, target)
}

function refsByGit(): ReadonlyMap<string, string> {
  const lines = git(repositories, ENGINE, 'for-each-ref', '--format=%(refname) %(objectname)')
  return new Map(
    lines.split('\n').map((line) => {
      const [name = '', id = ''] = line.split(' ')
      return [name, id]
    }),
  )
}
