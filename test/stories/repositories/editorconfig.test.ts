import { ConnectError } from '@connectrpc/connect'
import { beforeAll, describe, expect, it } from 'vitest'
import { ContentService } from '#gen/branchline/v1/content_service_pb.ts'
import { openForge } from '../../support/forge.ts'

const { users, rest, ask, grpc } = await openForge()

const CONFIG = '[*]\nindent_style = space\nindent_size = 2\n\n[*.go]\nindent_style = tab\n'

async function write(repo: string, text: string, branches: object = {}): Promise<void> {
  const content = Buffer.from(text).toString('base64')
  const path = `/repos/bob/${repo}/contents/.editorconfig`
  await ask(users.bob, 'POST', path, { content, ...branches })
}

beforeAll(async () => {
  for (const [name, isPrivate] of [
    ['engine', false],
    ['plain', false],
    ['secret', true],
  ])
    await ask(users.bob, 'POST', '/user/repos', { name, auto_init: true, private: isPrivate })
  await write('engine', CONFIG)
  await write('plain', 'x'.repeat(64 * 1024 + 1), { new_branch: 'large' })
  await write('secret', CONFIG)
})

describe('the EditorConfig of a file', () => {
  it('is read from the default branch or a ref, over REST and over gRPC', async () => {
    expect(await ask(undefined, 'GET', '/repos/bob/engine/editorconfig/src/main.go')).toEqual({
      charset: '',
      indent_style: 'tab',
      indent_size: '2',
      end_of_line: '',
      properties: { indent_style: 'tab', indent_size: '2', tab_width: '2' },
    })
    const config = await grpc(ContentService).getEditorConfig({
      owner: 'bob',
      repo: 'engine',
      path: 'README.md',
      ref: 'main',
    })
    expect([config.indentStyle, config.indentSize]).toEqual(['space', '2'])
  })

  it.each([
    ['a repository without the file', 'plain/editorconfig/a.go', 404, 'PATH_NOT_FOUND'],
    ['an unknown ref', 'engine/editorconfig/a.go?ref=none', 404, 'REF_NOT_FOUND'],
    ['a path that no file can have', 'engine/editorconfig/a%2F%2Fb', 404, 'PATH_NOT_FOUND'],
    ['a large file', 'plain/editorconfig/a.go?ref=large', 422, 'TEXT_TOO_COMPLEX'],
    ['a private repository', 'secret/editorconfig/a.go', 404, 'REPOSITORY_NOT_FOUND'],
  ])('is refused for %s', async (_, path, status, reason) => {
    const answer = await rest(users.carol, 'GET', `/repos/bob/${path}`)
    expect([answer.status, answer.headers.get('x-error-reason')]).toEqual([status, reason])
  })

  it('is that of a private repository for its owner only', async () => {
    const request = { owner: 'bob', repo: 'secret', path: 'a.go' }
    const config = await grpc(ContentService, users.bob).getEditorConfig(request)
    expect(config.indentStyle).toBe('tab')
    await expect(grpc(ContentService).getEditorConfig(request)).rejects.toThrow(ConnectError)
  })
})
