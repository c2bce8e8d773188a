import { spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from '@connectrpc/connect'
import { describe, expect, it } from 'vitest'
import { ServerService } from '#gen/branchline/v1/server_service_pb.ts'
import { openForge } from '../../support/forge.ts'
import { remoteOf } from '../../support/git-client.ts'
import { restAt } from '../../support/rest.ts'
import {
  createTestUsers,
  PASSWORD,
  startTestServer,
  type TestServer,
  type TestUsers,
  transportTo,
} from '../../support/server.ts'

const isHere = (program: string) => !spawnSync(program).error

const { server, users, rest, client } = await openForge()

const keyOf = async ({ url }: TestServer) => (await fetch(`${url}/api/v1/signing-key.pub`)).text()

/** Creates a repository of bob with one API commit, and returns the commit. */
async function makeCommit({ url }: TestServer, who: TestUsers, name: string) {
  const send = restAt(url)
  await send(who.bob, 'POST', '/user/repos', { name, auto_init: true })
  const { body } = await send(undefined, 'GET', `/repos/bob/${name}/commits`)
  return body[0] as { sha: string; commit: { verification: Record<string, unknown> } }
}

describe('commits that the server creates', () => {
  it('are signed by the instance, whichever method creates them', async () => {
    const first = await makeCommit(server, users, 'engine')
    const file = { content: 'aGVsbG8K', message: 'Say it' }
    const { body } = await rest(users.bob, 'POST', '/repos/bob/engine/contents/hello', file)
    const verified = {
      verified: true,
      reason: expect.stringMatching(/^Branchline \/ SHA256:/),
      signer: { name: 'Branchline', email: 'branchline@noreply.127.0.0.1', username: '' },
      signature: expect.stringContaining('BEGIN SSH SIGNATURE'),
    }
    expect(first.commit.verification).toMatchObject(verified)
    expect(body.verification).toMatchObject(verified)
    const { body: read } = await rest(
      undefined,
      'GET',
      `/repos/bob/engine/git/commits/${body.commit.sha}`,
    )
    expect(read.commit.verification).toEqual(body.verification)
  })

  it('satisfy a rule that requires signed commits', async () => {
    await makeCommit(server, users, 'strict')
    const rule = { rule_name: 'main', enable_push: true, require_signed_commits: true }
    expect(
      (await rest(users.bob, 'POST', '/repos/bob/strict/branch_protections', rule)).status,
    ).toBe(201)
    const file = { content: 'aGVsbG8K', message: 'Say it' }
    expect((await rest(users.bob, 'POST', '/repos/bob/strict/contents/hello', file)).status).toBe(
      201,
    )
    await client.git(
      '.',
      'clone',
      '-q',
      remoteOf(server.url, 'bob/strict', 'bob', PASSWORD),
      'strict',
    )
    await client.commit('strict', 'unsigned')
    await expect(client.git('strict', 'push', '-q')).rejects.toThrow('unverified commit')
  })

  it("are nobody else's, though an account claims the key", async () => {
    const key = await keyOf(server)
    expect((await rest(users.bob, 'POST', '/user/keys', { title: 'mine', key })).status).toBe(201)
    const { commit } = await makeCommit(server, users, 'claimed')
    expect(commit.verification).toMatchObject({
      verified: true,
      signer: { name: 'Branchline', username: '' },
    })
  })

  it('remain verified after signing is disabled, and after a restart', async () => {
    const data = await mkdtemp(join(tmpdir(), 'branchline-'))
    try {
      const before = await startTestServer({ data })
      const people = await createTestUsers(before.url)
      const signed = await makeCommit(before, people, 'signed')
      const key = await keyOf(before)
      await before.stop()
      const after = await startTestServer({ data, settings: { signing: false } })
      const unsigned = await makeCommit(after, people, 'unsigned')
      expect(unsigned.commit.verification).toMatchObject({ verified: false, signature: '' })
      const { body } = await restAt(after.url)(
        undefined,
        'GET',
        `/repos/bob/signed/git/commits/${signed.sha}`,
      )
      expect(body.commit.verification).toMatchObject({ verified: true })
      expect(await keyOf(after)).toBe(key)
      await after.stop()
    } finally {
      await rm(data, { recursive: true })
    }
  })
})

describe('the key of the instance', () => {
  it('is public, as a line of text', async () => {
    const answer = await fetch(`${server.url}/api/v1/signing-key.pub`)
    expect([answer.status, answer.headers.get('content-type')]).toEqual([
      200,
      'text/plain; charset=utf-8',
    ])
    const text = await answer.text()
    expect(text).toMatch(/^ssh-ed25519 [A-Za-z0-9+/]{68} branchline\n$/)
    const { data } = await createClient(
      ServerService,
      transportTo(server.url, 'gRPC'),
    ).getSigningKey({})
    expect(Buffer.from(data).toString()).toBe(text)
  })

  it.skipIf(!isHere('ssh-keygen'))(
    'verifies for git, too (skipped without ssh-keygen)',
    async () => {
      await makeCommit(server, users, 'checked')
      await client.git('.', 'clone', '-q', remoteOf(server.url, 'bob/checked'), 'checked')
      const allowed = join(client.home, 'allowed_signers')
      const verify = () =>
        client.git(
          'checked',
          '-c',
          `gpg.ssh.allowedSignersFile=${allowed}`,
          'verify-commit',
          'HEAD',
        )
      await writeFile(allowed, '')
      await expect(verify()).rejects.toThrow('No principal matched')
      await writeFile(allowed, `branchline@example.org namespaces="git" ${await keyOf(server)}`)
      await verify()
    },
  )
})
