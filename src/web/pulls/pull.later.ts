// What each visitor of a pull request loads after its first view, in one script.
export { EntryThread } from '../conversations/entry-thread.tsx'
export { MergeBox } from './merge-box.tsx'
export { PullDetails } from './pull-details.tsx'
export { ReviewActions } from './review-actions.tsx'
