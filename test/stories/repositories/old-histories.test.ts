import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { checkObjects } from '../../../src/platform/git/repositories/examination.ts'
import { openForge } from '../../support/forge.ts'
import { remoteOf } from '../../support/git-client.ts'
import { execFileSync } from '../../support/programs.ts'
import { PASSWORD } from '../../support/server.ts'

const { server, users, client, rest } = await openForge()

/** Writes an object of any form into a clone, as programs of long ago did, and returns its id. */
function write(folder: string, type: 'tree' | 'commit', content: Buffer): string {
  const args = [
    '-C',
    join(client.home, folder),
    'hash-object',
    '-t',
    type,
    '--literally',
    '-w',
    '--stdin',
  ]
  return execFileSync('git', args, { input: content, encoding: 'utf8' }).trim()
}

/**
 * A clone whose history has all faults that are accepted: a padded mode, a strange time zone, a
 * missing space.
 */
async function oldHistory(folder: string): Promise<{ first: string; last: string }> {
  await client.git('.', 'init', '-q', '-b', 'main', folder)
  await client.git(folder, 'config', 'user.name', 'Bob')
  const blob = execFileSync(
    'git',
    ['-C', join(client.home, folder), 'hash-object', '-w', '--stdin'],
    {
      input: 'old\n',
    },
  )
  const id = Buffer.from(blob.toString().trim(), 'hex')
  const below = write(folder, 'tree', Buffer.concat([Buffer.from('100644 old.txt\0'), id]))
  const padded = Buffer.concat([Buffer.from('040000 folder\0'), Buffer.from(below, 'hex')])
  const tree = write(folder, 'tree', padded)
  const commit = (parent: string, author: string, message: string) =>
    write(
      folder,
      'commit',
      Buffer.from(`tree ${tree}\n${parent}author ${author}\ncommitter ${author}\n\n${message}\n`),
    )
  const first = commit('', 'Bob <bob@example.org> 1234567890 -7349423', 'a time zone of its own')
  const last = commit(
    `parent ${first}\n`,
    'Bob <bob@example.org>1234567891 +0000',
    'no space before the time',
  )
  await client.git(folder, 'update-ref', 'refs/heads/main', last)
  return { first, last }
}

describe('a history with faults of old programs', () => {
  it('can be pushed and read', async () => {
    const { body } = await rest(users.bob, 'POST', '/user/repos', { name: 'old' })
    const { first, last } = await oldHistory('old')
    await client.git('old', 'push', '-q', remoteOf(server.url, 'bob/old', 'bob', PASSWORD), 'main')
    const get = async (path: string) => {
      const { authorization } = users.bob
      const answer = await fetch(`${server.url}/api/v1/repos/bob/old${path}`, {
        headers: { authorization },
      })
      await answer.arrayBuffer()
      return answer.status
    }
    const paths = [
      '/commits',
      `/git/commits/${first}`,
      `/git/commits/${last}`,
      `/git/commits/${last}.diff`,
      '/branches',
      '/contents/folder/old.txt',
      '/git/trees/main?recursive=true',
      '/raw/folder/old.txt',
      '/archive/main.tar.gz',
      `/compare/${first}...${last}`,
    ]
    for (const path of paths) expect([path, await get(path)]).toEqual([path, 200])
    await client.git('.', 'clone', '-q', remoteOf(server.url, 'bob/old', 'bob', PASSWORD), 'again')
    expect(await client.git('again', 'rev-parse', 'HEAD')).toBe(last)
    expect(await checkObjects(server.app.git, body.id)).toEqual([])
  })

  it('is refused with a harmful fault', async () => {
    await rest(users.bob, 'POST', '/user/repos', { name: 'harmful' })
    await client.git('.', 'init', '-q', '-b', 'main', 'harmful')
    const blob = write('harmful', 'tree', Buffer.alloc(0))
    const tree = write(
      'harmful',
      'tree',
      Buffer.concat([Buffer.from('40000 .git\0'), Buffer.from(blob, 'hex')]),
    )
    const author = 'Bob <bob@example.org> 1234567890 +0000'
    const commit = write(
      'harmful',
      'commit',
      Buffer.from(`tree ${tree}\nauthor ${author}\ncommitter ${author}\n\nx\n`),
    )
    const remote = remoteOf(server.url, 'bob/harmful', 'bob', PASSWORD)
    await expect(
      client.git('harmful', 'push', '-q', remote, `${commit}:refs/heads/main`),
    ).rejects.toThrow('hasDotgit')
  })
})

describe('the list of branches', () => {
  it('is complete again after damage, even if a branch was read before', async () => {
    const { body } = await rest(users.bob, 'POST', '/user/repos', {
      name: 'damaged',
      auto_init: true,
    })
    for (const name of ['one', 'two', 'three']) {
      await rest(users.bob, 'POST', '/repos/bob/damaged/branches', { new_branch_name: name })
    }
    await rest(users.bob, 'POST', '/repos/bob/damaged/tags', { tag_name: 'v1', target: 'main' })
    await rest(users.bob, 'POST', '/repos/bob/damaged/tags', { tag_name: 'v2', target: 'main' })
    const names = async (list: string) =>
      (await rest(users.bob, 'GET', `/repos/bob/damaged/${list}`)).body
        .map(({ name }: { name: string }) => name)
        .sort()
    await server.app.db.deleteFrom('branches').where('repository_id', '=', body.id).execute()
    await server.app.db.deleteFrom('tags').where('repository_id', '=', body.id).execute()
    expect((await rest(users.bob, 'GET', '/repos/bob/damaged/branches/two')).status).toBe(200)
    expect(await names('branches')).toEqual(['main', 'one', 'three', 'two'])
    expect(await names('tags')).toEqual(['v1', 'v2'])

    await server.app.db.deleteFrom('branches').where('name', 'in', ['one', 'three']).execute()
    expect((await rest(users.bob, 'GET', '/repos/bob/damaged/branches/one')).status).toBe(200)
    expect(await names('branches')).toEqual(['main', 'one', 'three', 'two'])
  })
})
