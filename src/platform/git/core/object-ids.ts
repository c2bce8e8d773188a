export const OBJECT_ID = /^[0-9a-f]{40}$/

export type ObjectType = 'commit' | 'tree' | 'blob' | 'tag'

/** Returns whether a text is a full object id. */
export function isObjectId(text: string): boolean {
  return OBJECT_ID.test(text)
}

/** The tree without entries. Git knows this tree in every repository. */
export const EMPTY_TREE = '4b825dc642cb6eb9a060e54bf8d69288fbee4904'
