import { t } from '../language/texts.tsx'

/** The merge styles with their names in the API, for people, and in the settings of a repository. */
export const MERGE_STYLES = [
  ['merge', t('Merge commit'), 'allowMergeCommits'],
  ['rebase', t('Rebase'), 'allowRebase'],
  ['rebase-merge', t('Rebase, then a merge commit'), 'allowRebaseExplicit'],
  ['squash', t('One commit (squash)'), 'allowSquashMerge'],
  ['fast-forward-only', t('Fast-forward only'), 'allowFastForwardOnlyMerge'],
] as const
