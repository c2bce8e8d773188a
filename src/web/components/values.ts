import { t } from '../language/texts.tsx'

type Words = Readonly<Record<string, string>>

const LEVELS: Words = {
  none: t('none @access'),
  read: t('read @access'),
  write: t('write @access'),
  admin: t('admin @access'),
  owner: t('owner @access'),
}

const CHECKS: Words = {
  pending: t('pending @check'),
  success: t('success @check'),
  failure: t('failure @check'),
  error: t('error @check'),
  warning: t('warning @check'),
  skipped: t('skipped @check'),
}

const STEPS: Words = {
  full: t('full @step'),
  prune: t('prune @step'),
  geometric: t('geometric @step'),
  bitmap: t('bitmap @step'),
  'commit-graph': t('commit-graph @step'),
  refs: t('refs @step'),
}

/** Returns the word for a level of access, or the level itself if the page does not know the level. */
export function levelText(level: string): string {
  return LEVELS[level] ?? level
}

/** Returns the word for the state of a check, or the state itself if the page does not know the state. */
export function checkText(state: string): string {
  return CHECKS[state] ?? state
}

/** Returns the words for steps of maintenance. A step that the page does not know stands as it is. */
export function stepsText(steps: readonly string[]): string {
  return steps.map((step) => STEPS[step] ?? step).join(', ')
}
