export const OBJECT_ID = /^[0-9a-f]{40}$/

export type ObjectType = 'commit' | 'tree' | 'blob' | 'tag'

/** Whether a text is an object id in full. */
export function isObjectId(text: string): boolean {
  return OBJECT_ID.test(text)
}

/** The tree without entries, which every git knows without having it. */
export const EMPTY_TREE = '4b825dc642cb6eb9a060e54bf8d69288fbee4904'
