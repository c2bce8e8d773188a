import type { Settings } from '../../core/core.ts'
/** Of an `ReposApp`: how titles of work in progress begin. */
export interface WorkInProgressRule {
  readonly settings: Pick<Settings, 'wipPrefixes'>
}

/** Whether a title says that it is work in progress. */
export function isWorkInProgress({ settings }: WorkInProgressRule, title: string): boolean {
  const folded = title.toLowerCase()
  return settings.wipPrefixes.some((prefix) => folded.startsWith(prefix.toLowerCase()))
}
