import { streamDiff, streamPatch } from '../../../platform/git/diffs/patches.ts'
import type { Caller } from '../../core/access.ts'
import type { PullName } from '../../core/names.ts'
import type { DiffFormat } from '../../repositories/commits/commits.ts'
import { readingStream } from '../../repositories/content/git-reading.ts'
import type { ReposApp } from '../../repositories/ports.ts'
import { openPull } from '../heads/open-pulls.ts'
import { rangeOf } from './pull-ranges.ts'

/**
 * Returns the changes of a pull request as text: a diff for git-apply(1), or mails for git-am(1).
 *
 * @param binary whether the diff contains binary files. Mails always contain them.
 * @throws as `openPull` and `rangeOf`; while reading SERVER_BUSY, GIT_TIMEOUT, DIFF_TOO_LARGE
 */
export async function getPullDiff(
  app: ReposApp,
  caller: Caller,
  name: PullName,
  format: DiffFormat,
  binary: boolean,
): Promise<AsyncIterable<Buffer>> {
  const open = await openPull(app, caller, name, 'read')
  const { base, head } = await rangeOf(app, open)
  const { id } = open.repository
  return readingStream(
    format === 'diff'
      ? streamDiff(app.git, id, base, head, { binary })
      : streamPatch(app.git, id, base, head),
  )
}
