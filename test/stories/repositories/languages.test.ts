import { expect, it } from 'vitest'
import { LanguageService } from '#gen/branchline/v1/language_service_pb.ts'
import { openForge, refusalOf } from '../../support/forge.ts'

const forge = await openForge()
const { users, rest } = forge

const PATH = '/repos/bob/tools'
const languages = (who = users.bob) => rest(who, 'GET', `${PATH}/languages`)

/** Commits files with these contents through the API. */
async function commit(files: Readonly<Record<string, string>>) {
  const changes = Object.entries(files).map(([path, text]) => ({
    operation: 'create',
    path,
    content: Buffer.from(text).toString('base64'),
  }))
  expect((await rest(users.bob, 'POST', `${PATH}/contents`, { files: changes })).status).toBe(201)
}

it('a repository without a commit has no languages', async () => {
  await rest(users.bob, 'POST', '/user/repos', { name: 'tools', private: true })
  expect(await languages()).toMatchObject({ status: 200, body: {} })
})

it('sizes add up by language, without unknown files and code of others', async () => {
  await commit({
    'main.go': 'package main\n',
    'src/a.ts': 'export {}\n',
    'src/B.TSX': '<b/>\n',
    Makefile: 'all:\n',
    'notes.txt': 'words',
    'vendor/x/y.c': 'int x;\n',
  })
  expect((await languages()).body).toEqual({ TypeScript: 15, Go: 13, Makefile: 5 })
})

it('the sizes follow the default branch', async () => {
  await commit({ 'lib.rs': 'fn main() {}\n' })
  expect((await languages()).body).toEqual({ TypeScript: 15, Go: 13, Rust: 13, Makefile: 5 })
})

it('a second request starts no Git process', async () => {
  const { processes } = forge.server.app.git
  await languages()
  const spawner = processes.spawner
  processes.spawner = {
    start: () => {
      throw new Error('a Git process was started')
    },
  } as never
  try {
    expect((await languages()).status).toBe(200)
  } finally {
    processes.spawner = spawner
  }
})

it('the languages of a private repository are hidden from strangers, on every protocol', async () => {
  expect((await languages(users.carol)).status).toBe(404)
  const call = forge
    .grpc(LanguageService, users.carol)
    .getRepositoryLanguages({ owner: 'bob', repo: 'tools' })
  expect(await refusalOf(call)).toMatchObject({ reason: 'REPOSITORY_NOT_FOUND' })
  const own = forge.grpc(LanguageService, users.bob)
  const { languages: sizes } = await own.getRepositoryLanguages({ owner: 'bob', repo: 'tools' })
  expect(sizes).toEqual({ TypeScript: 15n, Go: 13n, Rust: 13n, Makefile: 5n })
})
