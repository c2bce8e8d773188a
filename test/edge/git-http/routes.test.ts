import { describe, expect, it } from 'vitest'
import { readGitRoute } from '../../../src/edge/git-http/index.ts'

const upload = { owner: 'ada', name: 'engine', service: 'git-upload-pack' }
const receive = { owner: 'ada', name: 'engine', service: 'git-receive-pack' }

describe('a path of Git', () => {
  it.each([
    [
      '/ada/engine.git/info/refs?service=git-upload-pack',
      { kind: 'advertisement', target: upload },
    ],
    ['/ada/engine/info/refs?service=git-upload-pack', { kind: 'advertisement', target: upload }],
    [
      '/ada/engine.GIT/info/refs?service=git-receive-pack',
      { kind: 'advertisement', target: receive },
    ],
    [
      '/ada/engine.git/info/refs?a=b&service=git-receive-pack',
      { kind: 'advertisement', target: receive },
    ],
    ['/ada/engine.git/git-upload-pack', { kind: 'request', target: upload }],
    ['/ada/engine/git-receive-pack', { kind: 'request', target: receive }],
    // The path says what is asked for; a query that says something else changes nothing.
    [
      '/ada/engine.git/git-upload-pack?service=git-receive-pack',
      { kind: 'request', target: upload },
    ],
    [
      '/ada/engine.git/git-receive-pack?service=git-upload-pack',
      { kind: 'request', target: receive },
    ],
    // Names are looked up as they are: these lead nowhere.
    [
      '/%2e%2e/..git/git-upload-pack',
      { kind: 'request', target: { ...upload, owner: '%2e%2e', name: '.' } },
    ],
  ])('%s is read', (url, route) => {
    expect(readGitRoute(url)).toEqual(route)
  })

  it.each([
    '/ada/engine.git/info/refs',
    '/ada/engine.git/info/refs?service=',
    '/ada/engine.git/info/refs?service=git-upload-archive',
    '/ada/engine.git/info/refs?service=upload-pack',
    // Two readers could take two different ones for the service.
    '/ada/engine.git/info/refs?service=git-upload-pack&service=git-receive-pack',
  ])('%s asks for no service', (url) => {
    expect(readGitRoute(url)).toEqual({ kind: 'unknown service' })
  })

  it.each([
    '',
    '/',
    '/ada/engine',
    '/ada/engine.git',
    '/ada/engine.git/HEAD',
    '/ada/engine.git/info/refs/',
    '/ada/engine.git/git-upload-pack/x',
    '/engine.git/info/refs?service=git-upload-pack',
    '/a/b/c/info/refs?service=git-upload-pack',
    '//engine/git-upload-pack',
    '/ada/engine.git/git-upload-archive',
    '/api/v1/repos/ada/engine',
  ])('%s is none', (url) => {
    expect(readGitRoute(url)).toBeUndefined()
  })
})
