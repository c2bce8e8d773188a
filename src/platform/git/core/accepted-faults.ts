/**
 * Harmless faults that old programs left in histories (git-fsck(1), "FSCK MESSAGES"). Projects
 * such as Redis, Rails and jQuery have them and cannot change their histories.
 */
const FAULTS = ['badTimezone', 'missingSpaceBeforeDate', 'zeroPaddedFilemode']

/**
 * Returns settings by which Git accepts objects with these faults.
 *
 * @param check the check that the settings are for: of a push that the server receives, of a fetch
 *   that the server makes, or of `git fsck`.
 * @returns entries in the form `name=value`, for `git -c`.
 */
export function acceptedFaults(check: 'receive.fsck' | 'fetch.fsck' | 'fsck'): string[] {
  return FAULTS.map((fault) => `${check}.${fault}=ignore`)
}

/** Returns the value of `--strict` of `git index-pack` that accepts objects with these faults. */
export function strictFaults(): string {
  return FAULTS.map((fault) => `${fault}=ignore`).join(',')
}
