import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { deflateSync } from 'node:zlib'
import { beforeEach, describe, expect, it } from 'vitest'
import { MAX_READ_BYTES, ObjectFiles } from '../../../../src/platform/git/objects/object-files.ts'
import { readObject } from '../../../../src/platform/git/objects/objects.ts'
import {
  type Repositories,
  repositoryPath,
} from '../../../../src/platform/git/repositories/repositories.ts'
import { execFileSync } from '../../../support/programs.ts'
import { seededRandom } from '../../rpc/rest/random.ts'
import { git, testRepositories, writeHistory } from '../fixture.ts'

const ENGINE = 1

let repositories: Repositories

beforeEach(async () => {
  repositories = await testRepositories(1)
})

/** Returns what Git prints about all objects: `id type size`. */
function listedByGit(): string[] {
  return git(repositories, ENGINE, 'cat-file', '--batch-all-objects', '--batch-check').split('\n')
}

/** Reads with files that are closed afterwards. */
async function withFiles<T>(read: (files: ObjectFiles) => Promise<T>): Promise<T> {
  const files = new ObjectFiles(repositories, ENGINE)
  try {
    return await read(files)
  } finally {
    files.close()
  }
}

/** Stores a history whose files grow and change, so that packs contain chains of deltas. */
function writeRandomHistory(seed: number): void {
  const random = seededRandom(seed)
  const lines = Array.from({ length: 400 }, () => `${random.below(1e9)} of many lines\n`)
  const commits = Array.from({ length: 40 }, (_, i) => {
    lines[random.below(lines.length)] = `changed by ${i}\n`
    return {
      message: `commit ${i}\n\n${'x'.repeat(random.below(500))}`,
      files: { 'a.txt': lines.join(''), [`src/f${i % 7}.txt`]: `${i}\n`, [`empty${i % 3}`]: '' },
    }
  })
  writeHistory(repositories, ENGINE, commits)
  git(
    repositories,
    ENGINE,
    '-c',
    'user.name=a',
    '-c',
    'user.email=a@b',
    'tag',
    '-am',
    'v1',
    'v1',
    'main',
  )
}

const stores = {
  'loose objects': unpack,
  'a pack with deltas to offsets': () =>
    git(repositories, ENGINE, 'repack', '-adfq', '--depth=50', '--window=50'),
  'a pack with deltas to ids': () =>
    git(
      repositories,
      ENGINE,
      '-c',
      'repack.useDeltaBaseOffset=false',
      'repack',
      '-adfq',
      '--depth=20',
    ),
  'an uncompressed pack': () =>
    git(repositories, ENGINE, '-c', 'pack.compression=0', 'repack', '-adFq'),
  'two packs': () => {
    git(repositories, ENGINE, 'repack', '-adq')
    writeHistory(repositories, ENGINE, [{ message: 'late', files: { late: 'late\n' } }])
    git(repositories, ENGINE, 'repack', '-dq')
  },
}

/** Gives each object a file of its own. */
function unpack(): void {
  for (const name of readdirSync(packFolder()).filter((file) => file.endsWith('.pack'))) {
    const pack = readFileSync(join(packFolder(), name))
    rmSync(packFolder(), { recursive: true })
    mkdirSync(packFolder())
    execFileSync('git', ['-C', repositoryPath(repositories, ENGINE), 'unpack-objects', '-q'], {
      input: pack,
    })
  }
}

/** Writes the file of the object `aaaa...`. */
function writeLoose(folder: string, bytes: Buffer): void {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder)
  writeFileSync(join(folder, 'a'.repeat(38)), bytes)
}

function packFolder(): string {
  return join(repositoryPath(repositories, ENGINE), 'objects/pack')
}

describe('objects are read from files as Git reads them', () => {
  it.each(Object.entries(stores))('from %s', async (_, store) => {
    writeRandomHistory(7)
    store()
    const expected = listedByGit()
    expect(expected.length).toBeGreaterThan(80)
    await withFiles(async (files) => {
      for (const line of expected) {
        const [id = '', type = '', bytes] = line.split(' ')
        expect(await files.inspect(id)).toEqual({ id, type, bytes: Number(bytes) })
        // The hash of the content is compared with the id.
        expect(await files.read(id)).toMatchObject({ id, type, bytes: Number(bytes) })
      }
    })
  })
})

describe('Git reads instead', () => {
  const SOME_ID = 'a'.repeat(40)

  it('an object that has no file of its own and is in no pack', async () => {
    expect(
      await withFiles((files) => Promise.all([files.inspect(SOME_ID), files.read(SOME_ID)])),
    ).toEqual([undefined, undefined])
  })

  it('a large file, loose and packed', async () => {
    const text = `${'large\n'.repeat(MAX_READ_BYTES / 6)}more than the limit\n`
    writeHistory(repositories, ENGINE, [{ message: 'one', files: { large: text } }])
    const id = git(repositories, ENGINE, 'rev-parse', 'main:large')
    for (const store of [() => {}, () => git(repositories, ENGINE, 'repack', '-adq')]) {
      store()
      expect(await withFiles((files) => files.read(id))).toBeUndefined()
      expect((await withFiles((files) => files.inspect(id)))?.bytes).toBe(text.length)
      expect((await readObject(repositories, ENGINE, id, 1e6))?.content.toString()).toBe(text)
    }
  })

  it('a file with the content of another object, or with more than it says', async () => {
    const folder = join(repositoryPath(repositories, ENGINE), 'objects/aa')
    for (const text of ['blob 3\0abc', 'blob 3\0abcd', 'blob 3\0ab', 'blub 3\0abc', '']) {
      writeLoose(folder, deflateSync(text))
      expect(await withFiles((files) => files.read(SOME_ID))).toBeUndefined()
    }
  })

  it('a small file that expands to gigabytes', async () => {
    const folder = join(repositoryPath(repositories, ENGINE), 'objects/aa')
    const bomb = Buffer.concat([Buffer.from('blob 3\0abc'), Buffer.alloc(64 * 1024 ** 2)])
    writeLoose(folder, deflateSync(bomb))
    expect(await withFiles((files) => files.read(SOME_ID))).toBeUndefined()
  })

  it('packs that end early, at any place', async () => {
    writeRandomHistory(8)
    git(repositories, ENGINE, 'repack', '-adfq')
    git(repositories, ENGINE, 'prune-packed')
    const ids = listedByGit().map((line) => line.slice(0, 40))
    const [pack = '', index = ''] = ['.pack', '.idx'].map((end) =>
      readdirSync(packFolder()).find((name) => name.endsWith(end)),
    )
    for (const name of [pack, index])
      for (const bytes of [2000, 1000, 100, 0]) {
        chmodSync(join(packFolder(), name), 0o600)
        truncateSync(join(packFolder(), name), bytes)
        for (const id of ids)
          await withFiles(async (files) => {
            await files.inspect(id)
            const object = await files.read(id)
            if (object) expect(object.id).toBe(id)
          })
      }
  })
})
