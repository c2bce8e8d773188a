import type { Catalogue } from '../language/catalogue.ts'

/** Texts of memos, in German. */
export const german = {
  'Memos are for signed-in users:': 'Memos sind für angemeldete Benutzer:',
  'Your memos': 'Ihre Memos',
  'No memos.': 'Keine Memos.',
  'Older memos': 'Ältere Memos',
  'Current @memos': 'Aktuell',
  'Archived @memos': 'Archiviert',
  'Search your memos': 'Ihre Memos durchsuchen',
  'an empty memo': 'leeres Memo',
  '{time}, seen by only you': '{time}, nur für Sie sichtbar',
  '{time}, seen by all users': '{time}, für alle Benutzer sichtbar',
  '{time}, seen by everybody': '{time}, für alle sichtbar',
  'only you': 'nur Sie',
  'all users': 'alle Benutzer',
  'pinned @state': 'angeheftet',
  Restore: 'Wiederherstellen',
  'The memo and all comments on it are deleted.':
    'Das Memo und alle Kommentare dazu werden gelöscht.',
  Comments: 'Kommentare',
  'on {memo}': 'zu {memo}',
  'No comments.': 'Keine Kommentare.',
  'First comments': 'Erste Kommentare',
  'Later comments': 'Spätere Kommentare',
  'Comment on {memo}': 'Kommentar zu {memo}',
  'The comment is sent.': 'Der Kommentar ist gesendet.',
  '{login} commented': '{login} hat kommentiert',
  'the comment {snippet}': 'Kommentar {snippet}',
  'The comment and all comments on it are deleted.':
    'Der Kommentar und alle Kommentare dazu werden gelöscht.',
  'Save the memo': 'Memo speichern',
  'The memo is saved.': 'Das Memo ist gespeichert.',
  'New memo': 'Neues Memo',
  'Save the changes': 'Änderungen speichern',
  Text: 'Text',
  'Markdown. #word is a tag, and @name mentions somebody.':
    'Markdown. #Wort ist ein Tag, und @Name erwähnt jemanden.',
  'Who sees it': 'Wer es sieht',
} satisfies Catalogue
