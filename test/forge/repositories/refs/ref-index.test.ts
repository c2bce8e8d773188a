import { rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { findRepositoryById } from '../../../../src/forge/repositories/lifecycle/repositories.rows.ts'
import {
  endPendingUpdate,
  recordPendingUpdate,
} from '../../../../src/forge/repositories/refs/pending-ref-updates.ts'
import {
  compareRefIndex,
  readBranch,
  readBranchIndex,
  readTag,
  readTagIndex,
  reconcilePendingUpdates,
  syncRefIndex,
} from '../../../../src/forge/repositories/refs/ref-index.ts'
import { applyUpdates, recordUpdates } from '../../../../src/forge/repositories/refs/ref-updates.ts'
import {
  deleteRepository,
  repositoryPath,
} from '../../../../src/platform/git/repositories/repositories.ts'
import { git as runGit } from '../../../platform/git/fixture.ts'
import { testClock } from '../../../support/app.ts'
import { openForge } from '../../../support/forge.ts'
import { execFileSync } from '../../../support/programs.ts'
import { restAt } from '../../../support/rest.ts'
import { PASSWORD } from '../../../support/server.ts'

const clock = testClock()
let made = 0

/** By password: sessions end while the clock is moved. */
const bob = { authorization: `Basic ${Buffer.from(`bob:${PASSWORD}`).toString('base64')}` }

const { server } = await openForge({ clock })

/**
 * Makes a repository with a first commit on main, and returns what changes it behind the server's
 * back.
 */
async function repository() {
  const name = `index-${++made}`
  const { body } = await restAt(server.url)(bob, 'POST', '/user/repos', { name, auto_init: true })
  const id = body.id as number
  const git = (...args: string[]) => runGit(server.app.git, id, ...args)
  const row = async () => {
    const found = await findRepositoryById(server.app.db, id)
    if (!found) throw new Error('the repository is gone')
    return found
  }
  return {
    id,
    git,
    head: git('rev-parse', 'HEAD'),
    row,
    leaveNote: (create_time: number) =>
      server.app.db
        .insertInto('pending_ref_updates')
        .values({ repository_id: id, create_time })
        .execute(),
    notes: async () =>
      (
        await server.app.db
          .selectFrom('pending_ref_updates')
          .select('id')
          .where('repository_id', '=', id)
          .execute()
      ).length,
    branches: async () =>
      (await readBranchIndex(server.app, await row(), '', { offset: 0, limit: 50 })).refs.map(
        ({ name }) => name,
      ),
    tags: async () =>
      (await readTagIndex(server.app, await row(), { offset: 0, limit: 50 })).refs.map(
        ({ name }) => name,
      ),
  }
}

const now = () => Math.floor(clock.now() / 1000)

describe('rows of refs', () => {
  it('are read from Git at the next read after a crash between the update of a ref and of its row', async () => {
    const { git, leaveNote, branches, tags, notes, row } = await repository()
    git('update-ref', 'refs/tags/v1', 'main')
    git('update-ref', 'refs/heads/pushed', 'main')
    git('update-ref', '-d', 'refs/heads/main')
    // On PostgreSQL, a worker of the server may read the refs as soon as the note is there.
    await leaveNote(0)
    expect(await tags()).toEqual(['v1'])
    expect(await notes()).toBe(0)
    expect(await branches()).toEqual(['pushed'])
    expect((await row()).default_branch).toBe('pushed')
  })

  it('are read again while a Git process of the crashed server may still run', async () => {
    const { git, leaveNote, branches, notes } = await repository()
    await leaveNote(now())
    git('update-ref', 'refs/heads/a', 'main')
    expect(await branches()).toEqual(['a', 'main'])
    git('update-ref', 'refs/heads/b', 'main')
    expect(await branches()).toEqual(['a', 'b', 'main'])
    expect(await notes()).toBe(1)
    clock.advance(601)
    await branches()
    expect(await notes()).toBe(0)
  })

  it('are not read again while this process moves refs', async () => {
    const { id, git, branches, notes } = await repository()
    const note = await recordPendingUpdate(server.app, id)
    git('update-ref', 'refs/heads/a', 'main')
    expect(await branches()).toEqual(['main'])
    await recordUpdates(server.app, id, note, [
      { name: 'refs/heads/a', from: undefined, to: undefined },
    ])
    expect(await branches()).toEqual(['a', 'main'])
    expect(await notes()).toBe(0)
  })

  it('are read from Git if they could not be written before', async () => {
    const { id, git, branches, notes } = await repository()
    const path = repositoryPath(server.app.git, id)
    const note = await recordPendingUpdate(server.app, id)
    git('update-ref', 'refs/heads/a', 'main')
    await rename(path, `${path}-elsewhere`)
    const update = { name: 'refs/heads/a', from: undefined, to: undefined }
    await expect(recordUpdates(server.app, id, note, [update])).rejects.toThrow()
    await rename(`${path}-elsewhere`, path)
    expect(await branches()).toEqual(['a', 'main'])
    clock.advance(601)
    await branches()
    expect(await notes()).toBe(0)
  })

  it('are created for a repository with refs but no rows', async () => {
    const { git, branches, tags, row } = await repository()
    git('update-ref', 'refs/tags/v1', 'main')
    await server.app.db
      .deleteFrom('branches')
      .where('repository_id', '=', (await row()).id)
      .execute()
    expect((await row()).branch_count).toBe(0)
    expect(await tags()).toEqual(['v1'])
    expect(await branches()).toEqual(['main'])
    expect((await row()).branch_count).toBe(1)
  })

  it('are repaired individually when a ref is read', async () => {
    const { git, head, row } = await repository()
    const other = git(
      '-c',
      'user.name=x',
      '-c',
      'user.email=x@y',
      'commit-tree',
      `${head}^{tree}`,
      '-m',
      'other',
    )
    git('update-ref', 'refs/heads/main', other)
    git('update-ref', 'refs/heads/new', head)
    git('update-ref', 'refs/tags/v1', head)
    const repository_ = await row()
    expect(await readBranch(server.app, repository_, 'main')).toMatchObject({ commit_id: other })
    expect(await readBranch(server.app, repository_, 'new')).toMatchObject({ commit_id: head })
    expect(await readTag(server.app, repository_, 'v1')).toMatchObject({
      object_id: head,
      annotated: 0,
    })
    expect(await readTag(server.app, repository_, 'v2')).toBeUndefined()
    git('update-ref', '-d', 'refs/tags/v1')
    expect(await readTag(server.app, repository_, 'v1')).toBeUndefined()
    expect(await compareRefIndex(server.app, repository_.id)).toEqual([])
  })

  it('are repaired when a change finds a different value in Git', async () => {
    const { id, git, head, branches } = await repository()
    git('update-ref', 'refs/heads/a', 'main')
    const update = { name: 'refs/heads/a', from: undefined, to: head }
    await expect(applyUpdates(server.app, id, [update])).rejects.toMatchObject({ kind: 'STALE' })
    expect(await branches()).toEqual(['a', 'main'])
  })

  it('are compared with Git and corrected', async () => {
    const { id, git, head, branches, row } = await repository()
    git('update-ref', 'refs/heads/a', 'main')
    git('update-ref', '-d', 'refs/heads/main')
    git('symbolic-ref', 'HEAD', 'refs/heads/a')
    expect(await compareRefIndex(server.app, id)).toEqual([
      `branch "a" is ${head} in Git and missing in the database`,
      `branch "main" is missing in Git and ${head} in the database`,
      'the default branch is "a" in Git and "main" in the database',
    ])
    expect(await branches()).toEqual(['main'])
    expect(await syncRefIndex(server.app, id)).toBe(2)
    expect(await syncRefIndex(server.app, id)).toBe(0)
    expect(await compareRefIndex(server.app, id)).toEqual([])
    expect(await branches()).toEqual(['a'])
    expect((await row()).default_branch).toBe('a')
  })

  it('are listed without Git, latest commit first', async () => {
    const { id, git, head, row } = await repository()
    const commit = (seconds: number) => {
      const person = `x <x@y> ${seconds} +0000`
      const tree = git('rev-parse', `${head}^{tree}`)
      const input = `tree ${tree}\nauthor ${person}\ncommitter ${person}\n\nx\n`
      const args = [
        '-C',
        repositoryPath(server.app.git, id),
        'hash-object',
        '-w',
        '-t',
        'commit',
        '--stdin',
      ]
      return execFileSync('git', args, { input, encoding: 'utf8' }).trim()
    }
    git('update-ref', 'refs/heads/Old', commit(1_000_000_000))
    git('update-ref', 'refs/heads/older', commit(999_999_999))
    await syncRefIndex(server.app, id)
    await rm(repositoryPath(server.app.git, id), { recursive: true })
    const list = async (part: string, offset: number, limit: number) => {
      const { refs, total } = await readBranchIndex(server.app, await row(), part, {
        offset,
        limit,
      })
      return [refs.map(({ name }) => name), total]
    }
    expect(await list('', 0, 50)).toEqual([['main', 'Old', 'older'], 3])
    expect(await list('OLD', 1, 1)).toEqual([['older'], 2])
  })

  it('are deleted with the repository, even during an update', async () => {
    const { id, head } = await repository()
    const note = await recordPendingUpdate(server.app, id)
    await deleteRepository(server.app.git, id)
    await server.app.db.deleteFrom('repositories').where('id', '=', id).execute()
    await recordUpdates(server.app, id, note, [{ name: 'refs/heads/a', from: undefined, to: head }])
    endPendingUpdate(server.app, note)
    expect(await syncRefIndex(server.app, id)).toBe(0)
  })
})

describe('the start', () => {
  it('continues after a repository that cannot be read', async () => {
    const { id, leaveNote } = await repository()
    await writeFile(join(repositoryPath(server.app.git, id), 'HEAD'), 'broken')
    const before = server.logged.length
    await leaveNote(0)
    const other = await repository()
    other.git('update-ref', 'refs/heads/a', 'main')
    await other.leaveNote(0)
    await reconcilePendingUpdates(server.app)
    expect(await other.notes()).toBe(0)
    const failure = { level: 'error', repository: id }
    expect(server.logged.slice(before)).toContainEqual(expect.objectContaining(failure))
    await rm(repositoryPath(server.app.git, id), { recursive: true })
  })
})

describe('a server whose work others have taken over', () => {
  it('moves no ref, and leaves no pending update', async () => {
    const { id, head, git, notes } = await repository()
    const { coordination } = server.app
    // As after a stop of the process for longer than its session.
    const lost = vi.spyOn(coordination, 'lease').mockResolvedValue({
      check() {
        throw new Error('a lock of this server was lost')
      },
    })
    const update = { name: 'refs/heads/topic', from: undefined, to: head }
    try {
      await expect(applyUpdates(server.app, id, [update])).rejects.toThrow('was lost')
    } finally {
      lost.mockRestore()
    }
    expect(git('for-each-ref', 'refs/heads/topic')).toBe('')
    expect(await notes()).toBe(0)
  })
})
