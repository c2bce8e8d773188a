import { describe, expect, it } from 'vitest'
import { readSshCommand } from '../../../src/edge/git-ssh/command.ts'

const PATHS: readonly (readonly [string, owner: string, name: string])[] = [
  ['bob/tools', 'bob', 'tools'],
  ['/bob/tools', 'bob', 'tools'],
  ['bob/tools.git', 'bob', 'tools'],
  ['bob/tools.GIT', 'bob', 'tools'],
  ['/bob/tools.git', 'bob', 'tools'],
  ["'bob/tools'", 'bob', 'tools'],
  ["'/bob/tools.git'", 'bob', 'tools'],
  ["'bob/it'\\''s'", 'bob', "it's"],
  ["'bob/wow'\\!''", 'bob', 'wow!'],
  ["'bob/with space'", 'bob', 'with space'],
  ["'bob/$(touch x)'", 'bob', '$(touch x)'],
  ["'bob/a;b'", 'bob', 'a;b'],
  ["'bob/größe'", 'bob', 'größe'],
  ['bob/größe', 'bob', 'größe'],
  ["'~bob/tools'", '~bob', 'tools'],
  ['bob/.tools', 'bob', '.tools'],
  ['bob/..tools', 'bob', '..tools'],
  ['bob/tools.git.git', 'bob', 'tools.git'],
]

const NO_PATHS: readonly string[] = [
  '',
  '/',
  "''",
  'tools',
  '/tools',
  'bob/',
  '/bob/',
  'bob//tools',
  '//bob/tools',
  'bob/tools/',
  'a/bob/tools',
  'bob/tools/x',
  '../tools',
  './tools',
  'bob/..',
  'bob/.',
  'bob/..git',
  'bob/...git',
  "'../../etc/passwd'",
  "'bob/../tools'",
  "'bob/\0tools'",
  "'bob/to\nols'",
  "'bob/to\rols'",
  "'bob/\x1b[0mtools'",
  "'bob/\x7ftools'",
  `bob/${'x'.repeat(512)}`,
  `'bob/${'ö'.repeat(255)}'`,
  `'bob/${'x'.repeat(10_240)}'`,
  'bob/tools ',
  ' bob/tools',
  "'bob/tools' ",
]

/** More than one word, which a shell would split or run. */
const SEVERAL_WORDS: readonly string[] = [
  'bob/tools x',
  "'bob/tools' x",
  "'bob/tools' 'x'",
  "'bob/tools';id",
  'bob/tools;id',
  'bob/$(id)',
  'bob/`id`',
  'bob/tools|id',
  'bob/tools&id',
  'bob/tools>x',
  'bob/*',
  '"bob/tools"',
  "bob/to'ols",
  "'bob/tools",
  "bob/tools'",
  'bob\\/tools',
  '~bob/tools',
  "--upload-pack='id' bob/tools",
]

const VERBS = ['git-upload-pack', 'git receive-pack', 'git-upload-archive'] as const

describe('the command of an SSH client', () => {
  it.each(VERBS)('%s names a repository, in quotes or without', (verb) => {
    for (const [argument, owner, name] of PATHS) {
      const service = verb.replace(' ', '-')
      const target = { owner, name, service }
      expect(readSshCommand(`${verb} ${argument}`), argument).toEqual({ kind: 'git', target })
    }
  })

  it('is refused for any other path', () => {
    const refusal = { kind: 'invalid', text: 'invalid repository path', code: 1 }
    for (const path of NO_PATHS)
      expect(readSshCommand(`git-upload-pack ${path}`), path.slice(0, 40)).toEqual(refusal)
  })

  it('is refused with more words, which no shell sees', () => {
    for (const words of SEVERAL_WORDS) {
      const refusal = { kind: 'invalid', text: 'unknown command: git-upload-pack', code: 1 }
      expect(readSshCommand(`git-upload-pack ${words}`), words).toEqual(refusal)
    }
  })

  it('is unknown with another verb, whose text is short and printable', () => {
    for (const verb of ['ls', 'scp', 'git', 'git-shell', 'GIT-UPLOAD-PACK', '/bin/sh', '$(id)'])
      expect(readSshCommand(`${verb} 'bob/tools'`), verb).toEqual({
        kind: 'invalid',
        text: `unknown command: ${verb}`,
        code: 127,
      })
    const long = readSshCommand(`x\x1b${'y'.repeat(100)}`)
    expect(long).toEqual({
      kind: 'invalid',
      text: `unknown command: x${'y'.repeat(63)}`,
      code: 127,
    })
    expect(readSshCommand('')).toEqual({ kind: 'shell' })
  })

  it('of Git LFS needs an operation', () => {
    const target = { owner: 'bob', name: 'tools', operation: 'upload' }
    for (const operation of ['upload', "'upload'"])
      expect(readSshCommand(`git-lfs-transfer 'bob/tools.git' ${operation}`)).toEqual({
        kind: 'lfs',
        verb: 'git-lfs-transfer',
        target,
      })
    const refusal = { kind: 'invalid', text: 'unknown command: git-lfs-authenticate', code: 1 }
    for (const words of ["'bob/tools'", "'bob/tools' delete", "'bob/tools' upload x", ''])
      expect(readSshCommand(`git-lfs-authenticate ${words}`), words).toEqual(refusal)
  })
})
