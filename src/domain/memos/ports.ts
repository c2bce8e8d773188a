import type { AccountsApp } from '../accounts/ports.ts'
import type { MemoView } from './memo-view.ts'

/** What memos work with. */
export interface MemosApp extends AccountsApp {
  readonly payloads: MemoPayloads
}

/** Memos in the form of the API, for webhooks. */
export interface MemoPayloads {
  /** A memo as proto3 JSON, as its creator sees it. */
  memo(view: MemoView): string
}
