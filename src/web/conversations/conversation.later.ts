// What each visitor of a conversation who may write loads after its first view, in one script.
export { CommentEditor } from './comment-editor.tsx'
export { CommentForm } from './comment-form.tsx'
export { Reactions } from './reactions.tsx'
