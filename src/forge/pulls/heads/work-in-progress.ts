import type { Settings } from '../../core/core.ts'

/** The part of `ReposApp` that says how titles of work in progress begin. */
export interface WorkInProgressRule {
  readonly settings: Pick<Settings, 'wipPrefixes'>
}

/** Returns whether a title marks a pull request as work in progress. */
export function isWorkInProgress({ settings }: WorkInProgressRule, title: string): boolean {
  const folded = title.toLowerCase()
  return settings.wipPrefixes.some((prefix) => folded.startsWith(prefix.toLowerCase()))
}
