import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { HEADS } from '../core/ref-names.ts'
import { hasCode } from '../core/system-errors.ts'

/** HEAD as Git writes it when it points to a branch (gitrepository-layout(5)). */
const HEAD_OF_BRANCH = /^ref: (refs\/heads\/[^\0-\x20\x7f]+)\n$/

/** Sections whose settings change neither refs nor what a server says about itself. */
const HARMLESS_SECTION = /^\[(gc|maintenance|pack|receive|repack)\]$/i

/** Settings of `[core]` that change neither. */
const HARMLESS_CORE =
  /^(bare\s*=\s*true|repositoryformatversion\s*=\s*0|(filemode|ignorecase|logallrefupdates|precomposeunicode|symlinks)\s*=\s*(true|false))$/i

/** A setting on one line, without quotes, escapes and comments (git-config(1), SYNTAX). */
const SETTING = /^[a-z][a-z0-9-]*\s*=\s*[^"\\#;]*$/i

/** Files that make Git read refs elsewhere or describe a history without its beginning. */
const UNUSUAL_FILES = ['commondir', 'shallow']

/**
 * Returns the full name of the branch that HEAD points to, in a repository whose refs are in files
 * and whose configuration does not change what `git upload-pack` says. The branch may not exist.
 *
 * The files are read at each call, so an edit shows at once.
 *
 * @param path of the repository.
 * @returns undefined for every other repository, and when there is none.
 */
export function readPlainHead(path: string): string | undefined {
  try {
    const [, head] = HEAD_OF_BRANCH.exec(readFileSync(join(path, 'HEAD'), 'latin1')) ?? []
    if (head === undefined || head === HEADS) return undefined
    if (!isHarmless(readFileSync(join(path, 'config'), 'latin1'))) return undefined
    const isUnusual = UNUSUAL_FILES.some((name) => statOf(join(path, name)) !== undefined)
    if (isUnusual || !isFolder(join(path, 'objects')) || !isFolder(join(path, 'refs')))
      return undefined
    return head
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR', 'EISDIR', 'EACCES', 'ELOOP')) return undefined
    throw error
  }
}

function statOf(path: string) {
  return statSync(path, { throwIfNoEntry: false })
}

function isFolder(path: string): boolean {
  return statOf(path)?.isDirectory() === true
}

/** Returns whether a configuration has only settings that are known to change nothing. */
function isHarmless(config: string): boolean {
  let section: 'none' | 'core' | 'harmless' = 'none'
  for (const rawLine of config.split('\n')) {
    const line = rawLine.trim()
    if (line === '' || line.startsWith('#') || line.startsWith(';')) continue
    if (/^\[core\]$/i.test(line)) section = 'core'
    else if (HARMLESS_SECTION.test(line)) section = 'harmless'
    else if (section === 'none' || !SETTING.test(line)) return false
    else if (section === 'core' && !HARMLESS_CORE.test(line)) return false
  }
  return true
}
