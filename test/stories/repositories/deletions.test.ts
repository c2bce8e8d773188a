import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { insertLabel } from '../../../src/forge/conversations/labels.rows.ts'
import { DomainError, deletionError } from '../../../src/forge/core/errors.ts'
import { transaction } from '../../../src/platform/database/database.ts'
import {
  repositoriesIn,
  repositoryPath,
} from '../../../src/platform/git/repositories/repositories.ts'
import { testApp } from '../../support/app.ts'
import { openForge } from '../../support/forge.ts'

const {
  server,
  users: { bob },
  rest: send,
} = await openForge()
let sha: string

beforeAll(async () => {
  const { body } = await send(bob, 'POST', '/user/repos', { name: 'engine', auto_init: true })
  sha = (await send(bob, 'GET', '/repos/bob/engine/commits')).body[0].sha
  // As a deletion does that comes after a call was allowed; the row stands for what the call read
  // before.
  const path = repositoryPath(repositoriesIn(join(server.data, 'repositories')), body.id)
  await rename(path, `${path}.gone`)
})

describe('a repository that is deleted during a call', () => {
  it.each([
    ['GET', '/commits'],
    ['GET', '/contents'],
    ['GET', '/git/refs'],
    ['GET', '/git/trees/main'],
    ['GET', '/archive/main.tar.gz'],
    ['GET', '/commits/main/status'],
    ['POST', '/contents/new.txt', { content: 'YQ==' }],
    ['POST', '/tags', { tag_name: 'v1' }],
  ])('is not found by %s %s, which is no server error', async (method, path, body?: object) => {
    const { status } = await send(bob, method, `/repos/bob/engine${path}`, body)
    expect(status).toBe(404)
  })

  it.each(['git-upload-pack', 'git-receive-pack'])('is not found by %s', async (service) => {
    const headers = { authorization: bob.authorization }
    const answer = await fetch(`${server.url}/bob/engine.git/info/refs?service=${service}`, {
      headers,
    })
    expect(answer.status).toBe(404)
  })

  it('is in the log, in case nobody deleted it', async () => {
    await send(bob, 'GET', `/repos/bob/engine/git/commits/${sha}`)
    const line = {
      level: 'warn',
      msg: 'what a call needs is not there any more',
      request_id: expect.any(String),
    }
    expect(server.logged).toContainEqual(expect.objectContaining(line))
    expect(server.logged.filter(({ level }) => level === 'error')).toEqual([])
  })
})

describe('a row that refers to a deleted one', () => {
  it('is refused as too late', async () => {
    const app = await testApp()
    const label = { name: 'bug', color: 'ff0000', description: '', exclusive: 0, archived: 0 }
    const late = transaction(app.db, (tx) =>
      insertLabel(tx, { repository_id: 7, organization_id: null }, label),
    )
    const error: unknown = await late.catch((reason: unknown) => reason)
    expect(deletionError(error)).toEqual(new DomainError('DELETED_MEANWHILE'))
    expect(deletionError(new Error('a fault'))).toBeUndefined()
  })
})
