import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createPullTestUsers, type PullTestUsers, pullForge } from '../../support/pull-forge.ts'
import { startTestServer, type TestServer } from '../../support/server.ts'

let server: TestServer
let users: PullTestUsers
let forge: ReturnType<typeof pullForge>

beforeAll(async () => {
  server = await startTestServer()
  users = await createPullTestUsers(server.url)
  forge = pullForge(server)
})
afterAll(() => server.stop())

/** Three pull requests of bob's: `one` into main, `two` into `one`, `three` into `two`. */
async function stackOf(name: string) {
  const { path, pulls } = await forge.repository(users.bob, name)
  let base = 'main'
  for (const branch of ['one', 'two', 'three']) {
    await forge.change(users.bob, path, branch, base)
    await forge.ask(users.bob, 'POST', pulls, { head: branch, base, title: branch })
    base = branch
  }
  return { path, pulls }
}

const restack = (pulls: string, number: number, who = users.bob) =>
  forge.rest(who, 'POST', `${pulls}/${number}/restack`)

const stackSeen = async (pulls: string, number: number) =>
  (await forge.ask(users.bob, 'GET', `${pulls}/${number}`)).stack?.map(
    (pull: { number: number }) => pull.number,
  )

const filesOf = async (pulls: string, number: number): Promise<string[]> => {
  const files: { filename: string }[] = await forge.ask(
    users.bob,
    'GET',
    `${pulls}/${number}/files`,
  )
  return files.map(({ filename }) => filename)
}

describe('a stack', () => {
  it('is part of each of its pull requests, from the lowest', async () => {
    const { pulls } = await stackOf('shown')
    const two = await forge.ask(users.bob, 'GET', `${pulls}/2`)
    expect(two.stack).toMatchObject([
      { number: 1, title: 'one', state: 'open' },
      { number: 2, title: 'two', state: 'open', head_sha: two.head.sha },
      { number: 3, title: 'three', state: 'open' },
    ])
    expect(await stackSeen(pulls, 1)).toEqual([1, 2, 3])
    expect(await stackSeen(pulls, 3)).toEqual([1, 2, 3])
    const list = await forge.ask(users.bob, 'GET', pulls)
    expect(list.map((pull: object) => 'stack' in pull)).toEqual([false, false, false])
  })

  it('has only open pull requests, and only those below and above', async () => {
    const { path, pulls } = await stackOf('sides')
    await forge.change(users.bob, path, 'side', 'one')
    await forge.ask(users.bob, 'POST', pulls, { head: 'side', base: 'one', title: 'side' })
    expect(await stackSeen(pulls, 1)).toEqual([1, 2, 3, 4])
    expect(await stackSeen(pulls, 3)).toEqual([1, 2, 3])
    expect(await stackSeen(pulls, 4)).toEqual([1, 4])
    await forge.ask(users.bob, 'PATCH', `${pulls}/2`, { state: 'closed' })
    expect(await stackSeen(pulls, 1)).toEqual([1, 4])
    expect(await stackSeen(pulls, 2)).toBeUndefined()
    expect(await stackSeen(pulls, 3)).toBeUndefined()
  })

  it('ends at the default branch, and at a circle', async () => {
    const { path, pulls } = await stackOf('circle')
    await forge.change(users.bob, path, 'release', 'main')
    await forge.change(users.bob, path, 'main', 'main', 'new.txt')
    await forge.ask(users.bob, 'POST', pulls, { head: 'main', base: 'release', title: 'release' })
    await forge.ask(users.bob, 'POST', pulls, { head: 'main', base: 'three', title: 'back' })
    expect(await stackSeen(pulls, 1)).toEqual([1, 2, 3])
    expect(await stackSeen(pulls, 4)).toBeUndefined()
    await forge.ask(users.bob, 'POST', pulls, { head: 'one', base: 'three', title: 'circle' })
    expect(await stackSeen(pulls, 2)).toEqual([1, 2, 3, 6])
    expect(await stackSeen(pulls, 6)).toEqual([1, 2, 3, 6])
  })
})

describe('a restack', () => {
  it('lets the pull requests above follow a new commit', async () => {
    const { path, pulls } = await stackOf('follow')
    await forge.change(users.bob, path, 'one', 'main', 'more.txt')
    const { status, body } = await restack(pulls, 1)
    expect(status).toBe(200)
    expect(body).toMatchObject([
      { number: 2, branch: 'two' },
      { number: 3, branch: 'three' },
    ])
    const { head } = await forge.ask(users.bob, 'GET', `${pulls}/3`)
    expect(head.sha).toBe(body[1].new_commit_id)
    expect(await filesOf(pulls, 2)).toEqual(['two.txt'])
    expect(await filesOf(pulls, 3)).toEqual(['three.txt'])
    const two = await forge.ask(users.bob, 'GET', `${path}/contents?ref=two`)
    expect(two.map(({ name }: { name: string }) => name)).toContain('more.txt')
    expect((await restack(pulls, 1)).body).toEqual([])
  })

  it('leaves out the commits of a merged pull request, however it was merged', async () => {
    const { path, pulls } = await stackOf('squash')
    await forge.change(users.bob, path, 'one', 'main', 'more.txt')
    await restack(pulls, 1)
    await forge.ask(users.bob, 'POST', `${pulls}/1/merge`, {
      Do: 'squash',
      delete_branch_after_merge: true,
    })
    await expect
      .poll(async () => (await forge.ask(users.bob, 'GET', `${pulls}/2`)).base.ref)
      .toBe('main')
    const { status, body } = await restack(pulls, 1)
    expect(status).toBe(200)
    expect(body).toHaveLength(2)
    expect(await filesOf(pulls, 2)).toEqual(['two.txt'])
    const commits = await forge.ask(users.bob, 'GET', `${pulls}/2/commits`)
    expect(commits).toHaveLength(1)
    expect(await filesOf(pulls, 3)).toEqual(['three.txt'])
  })

  it.each(['one.txt', 'two.txt'])(
    'keeps approvals after a squash of the lowest, also those that were read before: %s',
    async (file) => {
      const { path, pulls } = await stackOf(`approved-${file.replace('.', '-')}`)
      await forge.ask(users.bob, 'PUT', `${path}/collaborators/ada`, { permission: 'write' })
      const rule = { rule_name: 'main', enable_push: true, dismiss_stale_approvals: true }
      await forge.ask(users.bob, 'POST', `${path}/branch_protections`, rule)
      // In one case, next to lines that the squash adds.
      const { sha } = await forge.ask(users.bob, 'GET', `${path}/contents/${file}?ref=two`)
      await forge.ask(users.bob, 'PUT', `${path}/contents/${file}`, {
        content: Buffer.from('one\nof another\n').toString('base64'),
        branch: 'two',
        sha,
      })
      await restack(pulls, 2)
      for (const number of [2, 3])
        await forge.ask(users.ada, 'POST', `${pulls}/${number}/reviews`, { event: 'APPROVED' })
      const merge = { Do: 'squash', delete_branch_after_merge: true }
      await forge.ask(users.bob, 'POST', `${pulls}/1/merge`, merge)
      await expect
        .poll(async () => (await forge.ask(users.bob, 'GET', `${pulls}/2`)).base.ref)
        .toBe('main')
      const votes = (number: number) => forge.ask(users.bob, 'GET', `${pulls}/${number}/reviews`)
      const kept = [{ state: 'APPROVED', stale: false, dismissed: false }]
      expect(await votes(2)).toMatchObject(kept)
      expect((await restack(pulls, 1)).body).toHaveLength(2)
      for (const number of [2, 3]) expect(await votes(number)).toMatchObject(kept)
      expect(await filesOf(pulls, 2)).toEqual([...new Set(['two.txt', file])].sort())
      // Other changes need another approval.
      await forge.change(users.bob, path, 'two', 'main', 'more.txt')
      expect(await votes(2)).toMatchObject([{ stale: true, dismissed: true }])
    },
  )

  it('does not keep an approval if the base takes the changes below back', async () => {
    const { path, pulls } = await stackOf('reverted')
    await forge.ask(users.bob, 'PUT', `${path}/collaborators/ada`, { permission: 'write' })
    await forge.ask(users.ada, 'POST', `${pulls}/2/reviews`, { event: 'APPROVED' })
    const merge = { Do: 'squash', delete_branch_after_merge: true }
    await forge.ask(users.bob, 'POST', `${pulls}/1/merge`, merge)
    await expect
      .poll(async () => (await forge.ask(users.bob, 'GET', `${pulls}/2`)).base.ref)
      .toBe('main')
    const vote = async () => (await forge.ask(users.bob, 'GET', `${pulls}/2/reviews`))[0]
    expect(await vote()).toMatchObject({ stale: false })
    const { sha } = await forge.ask(users.bob, 'GET', `${path}/contents/one.txt`)
    await forge.ask(users.bob, 'DELETE', `${path}/contents/one.txt`, { sha, branch: 'main' })
    expect(await vote()).toMatchObject({ stale: true })
  })

  it('moves nothing when one commit conflicts', async () => {
    const { path, pulls } = await stackOf('conflict')
    const before = await forge.ask(users.bob, 'GET', `${pulls}/2`)
    await forge.change(users.bob, path, 'one', 'main', 'three.txt')
    await forge.ask(users.bob, 'PUT', `${path}/contents/three.txt`, {
      content: Buffer.from('another\n').toString('base64'),
      branch: 'one',
      sha: (await forge.ask(users.bob, 'GET', `${path}/contents/three.txt?ref=one`)).sha,
    })
    expect((await restack(pulls, 1)).status).toBe(409)
    const after = await forge.ask(users.bob, 'GET', `${pulls}/2`)
    expect(after.head.sha).toBe(before.head.sha)
  })

  it('does not move the branch below, also if a pull request wants to merge it back', async () => {
    const { path, pulls } = await stackOf('back')
    await forge.ask(users.bob, 'POST', pulls, { head: 'main', base: 'three', title: 'back' })
    await forge.change(users.bob, path, 'main', 'main', 'new.txt')
    await forge.change(users.bob, path, 'one', 'main', 'more.txt')
    const before = await forge.ask(users.bob, 'GET', `${path}/branches/main`)
    const { status, body } = await restack(pulls, 1)
    expect(status).toBe(200)
    expect(body.map(({ branch }: { branch: string }) => branch)).toEqual(['two', 'three'])
    const after = await forge.ask(users.bob, 'GET', `${path}/branches/main`)
    expect(after.commit.id).toBe(before.commit.id)
  })

  it('is for the author and for writers', async () => {
    const { pulls } = await stackOf('rights')
    expect((await restack(pulls, 1, users.eve)).status).toBe(403)
    expect((await restack(pulls, 9)).status).toBe(404)
  })
})

describe('a merge in a repository that rebases stacks', () => {
  const enable = async (path: string) => {
    expect((await forge.ask(users.bob, 'GET', path)).rebase_stacks).toBeUndefined()
    await forge.ask(users.bob, 'PATCH', path, { rebase_stacks: true })
    expect((await forge.ask(users.bob, 'GET', path)).rebase_stacks).toBe(true)
  }
  const merge = (pulls: string, style: string) =>
    forge.ask(users.bob, 'POST', `${pulls}/1/merge`, { Do: style, delete_branch_after_merge: true })
  const filesOnBranch = async (path: string, branch: string) => {
    const files = await forge.ask(users.bob, 'GET', `${path}/contents?ref=${branch}`)
    return files.map(({ name }: { name: string }) => name)
  }

  it.each(['merge', 'squash', 'rebase'])(
    'rebases those above after a %s, and their approvals stay',
    async (style) => {
      const { path, pulls } = await stackOf(`by-${style}`)
      await enable(path)
      await forge.ask(users.bob, 'PUT', `${path}/collaborators/ada`, { permission: 'write' })
      // No rule for the branch that the merge deletes: it would stay.
      for (const rule_name of ['main', 'two'])
        await forge.ask(users.bob, 'POST', `${path}/branch_protections`, {
          rule_name,
          enable_push: true,
          enable_force_push: true,
          dismiss_stale_approvals: true,
        })
      await forge.change(users.bob, path, 'main', 'main', 'other.txt')
      for (const number of [2, 3])
        await forge.ask(users.ada, 'POST', `${pulls}/${number}/reviews`, { event: 'APPROVED' })
      await merge(pulls, style)
      const two = await forge.ask(users.bob, 'GET', `${pulls}/2`)
      expect(two.base.ref).toBe('main')
      expect((await forge.rest(users.bob, 'GET', `${path}/branches/one`)).status).toBe(404)
      expect(await forge.ask(users.bob, 'GET', `${pulls}/2/commits`)).toHaveLength(1)
      expect(await filesOf(pulls, 2)).toEqual(['two.txt'])
      expect(await filesOf(pulls, 3)).toEqual(['three.txt'])
      expect(await filesOnBranch(path, 'three')).toContain('other.txt')
      for (const number of [2, 3])
        await expect
          .poll(() => forge.ask(users.bob, 'GET', `${pulls}/${number}/reviews`))
          .toMatchObject([{ state: 'APPROVED', stale: false, dismissed: false }])
    },
  )

  it('keeps the commits of those above if one conflicts, and deletes the branch all the same', async () => {
    const { path, pulls } = await stackOf('collides')
    await enable(path)
    const before = await forge.ask(users.bob, 'GET', `${pulls}/2`)
    await forge.ask(users.bob, 'POST', `${path}/contents/three.txt`, {
      content: Buffer.from('another\n').toString('base64'),
      branch: 'main',
    })
    await merge(pulls, 'squash')
    const after = await forge.ask(users.bob, 'GET', `${pulls}/2`)
    expect([after.base.ref, after.head.sha]).toEqual(['main', before.head.sha])
    expect((await forge.rest(users.bob, 'GET', `${path}/branches/one`)).status).toBe(404)
    const three = await forge.ask(users.bob, 'GET', `${pulls}/3`)
    const text = `after the merge of #1: commit ${three.head.sha.slice(0, 10)} of #3 conflicts in three.txt`
    for (const number of [2, 3]) {
      const timeline = await forge.ask(users.bob, 'GET', `${path}/issues/${number}/timeline`)
      const type = 'pull_restack_failed'
      expect(timeline.filter((entry: { type: string }) => entry.type === type)).toMatchObject([
        { body: text },
      ])
    }
    // The author is told, although the author merged.
    const unread = async () => {
      const threads: { subject: { title: string } }[] = await forge.ask(
        users.bob,
        'GET',
        `${path}/notifications`,
      )
      return threads.map(({ subject }) => subject.title).sort()
    }
    await expect.poll(unread).toEqual(['three', 'two'])
    const refused = await restack(pulls, 1)
    expect([refused.status, refused.body.message]).toEqual([409, expect.any(String)])
  })
})
