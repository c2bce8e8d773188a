/**
 * Faults that programs of long ago left in histories that nobody can change (git-fsck(1), "FSCK
 * MESSAGES"). They do no harm, and projects such as Redis, Rails and jQuery have them.
 */
const FAULTS = ['badTimezone', 'missingSpaceBeforeDate', 'zeroPaddedFilemode']

/**
 * Settings by which Git accepts objects with these faults.
 *
 * @param check whose settings: those of a push that the server receives, of a fetch that it makes,
 *   or of `git fsck`.
 * @returns `name=value` each, for `git -c`.
 */
export function acceptedFaults(check: 'receive.fsck' | 'fetch.fsck' | 'fsck'): string[] {
  return FAULTS.map((fault) => `${check}.${fault}=ignore`)
}
