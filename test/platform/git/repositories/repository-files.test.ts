import { link, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  type Repositories,
  repositoriesIn,
  repositoryPath,
} from '../../../../src/platform/git/repositories/repositories.ts'
import {
  type RepositoryFile,
  repositoryFiles,
} from '../../../../src/platform/git/repositories/repository-files.ts'
import { execFileSync } from '../../../support/programs.ts'

let repositories: Repositories
let root: string

beforeEach(async () => {
  repositories = repositoriesIn(await mkdtemp(join(tmpdir(), 'branchline-')))
  root = repositoryPath(repositories, 1)
  await mkdir(join(root, 'objects/pack'), { recursive: true })
})
afterEach(() => rm(repositories.folder, { recursive: true }))

async function write(path: string, content = path): Promise<void> {
  await mkdir(dirname(join(root, path)), { recursive: true })
  await writeFile(join(root, path), content)
}

/** Names and contents of all files, with something that happens when a file has been read. */
async function readAll(
  meanwhile: (name: string) => Promise<void> = async () => {},
): Promise<Map<string, string>> {
  const read = new Map<string, string>()
  for await (const { path, content } of repositoryFiles(repositories, 1)) {
    const name = basename(path)
    read.set(name, (Buffer.isBuffer(content) ? content : await content.readFile()).toString())
    await meanwhile(name)
  }
  return read
}

describe('the files of a repository in use', () => {
  it('contain every object during a git repack', async () => {
    await write('objects/aa/loose')
    for (const pack of ['pack-1', 'pack-2'])
      for (const end of ['idx', 'pack']) await write(`objects/pack/${pack}.${end}`)
    let isJoined = false
    const read = await readAll(async (name) => {
      if (isJoined || !name.endsWith('.pack')) return
      isJoined = true
      await write('objects/pack/pack-3.pack', 'joined')
      await write('objects/pack/pack-3.idx', 'joined')
      for (const old of await readdir(join(root, 'objects/pack'))) {
        if (!old.startsWith('pack-3')) await rm(join(root, 'objects/pack', old))
      }
    })
    expect([read.get('loose'), read.get('pack-3.pack'), read.get('pack-3.idx')]).toEqual([
      'objects/aa/loose',
      'joined',
      'joined',
    ])
    expect([...read.keys()].filter((name) => name.endsWith('.idx'))).toEqual(['pack-3.idx'])
  })

  it('contain the objects of a pack that was created from loose objects meanwhile', async () => {
    await write('HEAD', 'ref: refs/heads/main\n')
    await write('objects/aa/loose')
    const read = await readAll(async (name) => {
      if (name !== 'HEAD') return
      await write('objects/pack/pack-1.pack', 'was loose')
      await rm(join(root, 'objects/aa'), { recursive: true })
    })
    expect(read.get('pack-1.pack')).toBe('was loose')
  })

  it('stay readable when they are removed or replaced', async () => {
    await write('objects/aa/loose', 'old')
    for await (const { content } of repositoryFiles(repositories, 1)) {
      await write('objects/aa/new', 'new one')
      await rename(join(root, 'objects/aa/new'), join(root, 'objects/aa/loose'))
      expect(String(Buffer.isBuffer(content) ? content : await content.readFile())).toBe('old')
    }
  })

  it('have a common link key for hard links of one name, but not for reused inodes', async () => {
    const keys = async () => {
      const found: [string, string | undefined][] = []
      const collect = ({ path, linkKey }: RepositoryFile) => found.push([basename(path), linkKey])
      for await (const file of repositoryFiles(repositories, 1)) collect(file)
      return new Map(found)
    }
    await write('objects/aa/alone')
    await write('objects/aa/shared')
    await link(join(root, 'objects/aa/shared'), join(repositories.folder, 'elsewhere'))
    const before = await keys()
    expect([before.get('alone'), before.get('shared')]).toEqual([undefined, expect.any(String)])
    // Another name is another object, whatever the disk says.
    await rename(join(root, 'objects/aa/shared'), join(root, 'objects/aa/other'))
    expect((await keys()).get('other')).not.toBe(before.get('shared'))
  })

  it('form the same repository to Git', async () => {
    execFileSync('git', ['init', '-q', '--bare', root])
    const read = await readAll()
    expect(read.get('HEAD')).toBe(await readFile(join(root, 'HEAD'), 'utf8'))
  })
})
