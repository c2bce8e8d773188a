import type { Catalogue } from '../language/catalogue.ts'

/** Texts of pull requests, in German. */
export const german = {
  'Pull request {number}': 'Pull-Request {number}',
  'Pull request': 'Pull-Request',
  'New pull request': 'Neuer Pull-Request',
  'Search pull requests': 'Pull-Requests durchsuchen',
  'approved @review': 'genehmigt',
  'changes requested': 'Änderungen angefordert',
  'waits for a review': 'wartet auf ein Review',
  'checks succeeded': 'Prüfungen erfolgreich',
  'checks failed': 'Prüfungen fehlgeschlagen',
  'checks are running': 'Prüfungen laufen',
  'No pull requests.': 'Keine Pull-Requests.',
  'place {position} in the merge queue': 'Platz {position} in der Merge-Warteschlange',
  '{who} wants to merge {head} into {base}, opened {time}':
    '{who} möchte {head} in {base} zusammenführen, {time} eröffnet',
  'Number {number} is an issue: {link}.': 'Nummer {number} ist ein Issue: {link}.',
  Conversation: 'Diskussion',
  'Conflicts with the target branch': 'Konflikte mit dem Ziel-Branch',
  'Looking for conflicts': 'Suche nach Konflikten',
  'No conflicts': 'Keine Konflikte',
  'Go to the merge': 'Zur Zusammenführung',
  'You have a pending review.': 'Sie haben ein ausstehendes Review.',
  'Submit the review among the files.': 'Review bei den Dateien absenden.',
  Checks: 'Prüfungen',
  'No system has reported a check.': 'Kein System hat eine Prüfung gemeldet.',
  'Stack, from the lowest': 'Stapel, von unten',
  'Rebase those above': 'Rebase der darüberliegenden',
  'All pull requests above follow this one already.':
    'Alle Pull-Requests darüber bauen bereits auf diesem auf.',
  'Rebased {count} pull requests.': {
    one: 'Rebase von {count} Pull-Request ausgeführt.',
    other: 'Rebase von {count} Pull-Requests ausgeführt.',
  },
  'Requested reviewers': 'Angefragte Reviewer',
  'Mark as ready': 'Als bereit markieren',
  'Mark as work in progress': 'Als in Arbeit markieren',
  'Close without a merge': 'Ohne Zusammenführung schließen',
  'Merge @noun': 'Zusammenführung',
  'Merge @action': 'Zusammenführen',
  'Merge as soon as nothing is missing': 'Zusammenführen, sobald nichts mehr fehlt',
  'Merge as soon as the checks succeed': 'Zusammenführen, sobald die Prüfungen erfolgreich sind',
  'Merged by {who} {time}.': '{time} von {who} zusammengeführt.',
  'The server is looking for conflicts.': 'Der Server sucht nach Konflikten.',
  'The check for conflicts failed. If a merge is refused, its reason appears here.':
    'Die Suche nach Konflikten ist fehlgeschlagen. Wird eine Zusammenführung abgelehnt, erscheint hier der Grund.',
  'The target branch has all these changes. A merge adds the commits only.':
    'Der Ziel-Branch enthält alle diese Änderungen bereits. Eine Zusammenführung fügt nur die Commits hinzu.',
  Style: 'Art',
  'Merge commit': 'Merge-Commit',
  Rebase: 'Rebase',
  'Rebase, then a merge commit': 'Rebase, danach ein Merge-Commit',
  'One commit (squash)': 'Ein Commit (Squash)',
  'Fast-forward only': 'Nur Fast-Forward',
  'Delete the branch afterwards': 'Branch danach löschen',
  'The commits keep their messages.': 'Die Commits behalten ihre Nachrichten.',
  'Title of the commit': 'Titel des Commits',
  '{who} has scheduled a merge ({style}) for when the checks have succeeded.':
    '{who} hat eine Zusammenführung ({style}) geplant, sobald die Prüfungen erfolgreich sind.',
  'Cancel the scheduled merge': 'Geplante Zusammenführung absagen',
  'Delete the branch {name}': 'Branch {name} löschen',
  'The changes are on the target branch.': 'Die Änderungen sind im Ziel-Branch.',
  'The pull request is closed.': 'Der Pull-Request ist geschlossen.',
  'Somebody who may write to the repository can merge.':
    'Zusammenführen kann, wer in das Repository schreiben darf.',
  'The target branch does not exist.': 'Der Ziel-Branch existiert nicht.',
  'A rule of {branch} says who may merge. You may not.':
    'Eine Regel von {branch} bestimmt, wer zusammenführen darf. Sie dürfen es nicht.',
  'Work in progress PRs cannot be merged.':
    'Pull-Requests in Arbeit können nicht zusammengeführt werden.',
  'The changes conflict with those of the target branch.':
    'Die Änderungen stehen in Konflikt mit denen des Ziel-Branches.',
  'The target branch has all commits already.': 'Der Ziel-Branch enthält bereits alle Commits.',
  'Does not have enough approvals: {given} of {needed}.':
    'Es fehlen Genehmigungen: {given} von {needed}.',
  'Not all required status checks successful: {names}.':
    'Nicht alle verlangten Prüfungen sind erfolgreich: {names}.',
  'no system has reported a check': 'kein System hat eine Prüfung gemeldet',
  '{branch} has commits that the pull request does not have.':
    '{branch} enthält Commits, die der Pull-Request nicht hat.',
  'Update the branch by a merge': 'Branch durch eine Zusammenführung aktualisieren',
  'Update the branch by a rebase': 'Branch durch ein Rebase aktualisieren',
  '{branch} has a {queue}, which merges once the required checks have succeeded together with the pull requests before.':
    '{branch} hat eine {queue}. Diese führt zusammen, sobald die verlangten Prüfungen gemeinsam mit den vorherigen Pull-Requests erfolgreich sind.',
  '{branch} has a {queue}, which takes a stack in its order.':
    '{branch} hat eine {queue}. Diese nimmt einen Stapel in seiner Reihenfolge auf.',
  'This pull request enters together with {numbers}, and leaves if one of those leaves.':
    'Dieser Pull-Request kommt zusammen mit {numbers} hinein und verlässt sie, wenn einer davon sie verlässt.',
  'Take out of the queue': 'Aus der Warteschlange nehmen',
  'Merge at once': 'Sofort zusammenführen',
  'The merge does not wait for checks or approvals. All pull requests in the queue of {branch} are then tried again.':
    'Die Zusammenführung wartet nicht auf Prüfungen oder Genehmigungen. Danach werden alle Pull-Requests in der Warteschlange von {branch} neu geprüft.',
  'Add to the merge queue': 'Zur Merge-Warteschlange hinzufügen',
  'Add to the merge queue again': 'Erneut zur Merge-Warteschlange hinzufügen',
  'Add the stack to the merge queue': 'Stapel zur Merge-Warteschlange hinzufügen',
  'Add the stack to the merge queue again': 'Stapel erneut zur Merge-Warteschlange hinzufügen',
  'Merge when ready': 'Zusammenführen, sobald bereit',
  'Add to the front of the queue': 'Vorne in die Warteschlange stellen',
  'The pull request has left the queue: {reason}.':
    'Der Pull-Request hat die Warteschlange verlassen: {reason}.',
  'Checks: {names}': 'Prüfungen: {names}',
  'Position {position}': 'Position {position}',
  'Position {position}, in about {count} minutes': {
    one: 'Position {position}, in etwa {count} Minute',
    other: 'Position {position}, in etwa {count} Minuten',
  },
  '{place}: {state}.': '{place}: {state}.',
  'Stands on #{number}.': 'Baut auf #{number} auf.',
  'Added by {who}.': 'Hinzugefügt von {who}.',
  'waits for its turn': 'wartet, bis die Reihe an ihm ist',
  'waits for checks': 'wartet auf Prüfungen',
  'has succeeded, and waits for the pull requests before':
    'war erfolgreich und wartet auf die vorherigen Pull-Requests',
  'Merge queue of {branch}': 'Merge-Warteschlange von {branch}',
  'Reconnecting.': 'Die Verbindung wird wiederhergestellt.',
  'No pull request waits.': 'Kein Pull-Request wartet.',
  'Tried together: {numbers}': 'Gemeinsam geprüft: {numbers}',
  'until {time}': 'Frist {time}',
  'line {line} of {path}': 'Zeile {line} von {path}',
  'old line {line} of {path}': 'alte Zeile {line} von {path}',
  '{signIn} to review the changes.': '{signIn}, um die Änderungen zu prüfen.',
  '{viewed} of {count} files viewed.': {
    one: '{viewed} von {count} Datei angesehen.',
    other: '{viewed} von {count} Dateien angesehen.',
  },
  'These are the changes since commit {commit}.': 'Dies sind die Änderungen seit Commit {commit}.',
  'Show all changes, to comment on lines.': 'Alle Änderungen anzeigen, um Zeilen zu kommentieren.',
  'Commits have arrived since your last review.':
    'Seit Ihrem letzten Review sind Commits hinzugekommen.',
  'Show the changes since then.': 'Änderungen seitdem anzeigen.',
  '{count} comments wait for the submission. Nobody else sees a pending review.': {
    one: '{count} Kommentar wartet auf das Absenden. Niemand sonst sieht ein ausstehendes Review.',
    other:
      '{count} Kommentare warten auf das Absenden. Niemand sonst sieht ein ausstehendes Review.',
  },
  'Choose the number of a line to comment on the line.':
    'Zum Kommentieren einer Zeile deren Nummer auswählen.',
  'Go to your review': 'Zu Ihrem Review',
  'Your review': 'Ihr Review',
  Summary: 'Zusammenfassung',
  'Summary (optional)': 'Zusammenfassung (optional)',
  Verdict: 'Urteil',
  'Comment @action': 'Kommentieren',
  Approve: 'Genehmigen',
  'Request changes': 'Änderungen anfordern',
  'Submit the review': 'Review absenden',
  'The review is submitted.': 'Das Review ist abgesendet.',
  'Discard the pending review': 'Ausstehendes Review verwerfen',
  'All comments of the pending review are deleted.':
    'Alle Kommentare des ausstehenden Reviews werden gelöscht.',
  'the review of {who}': 'Review von {who}',
  'Let the review count again': 'Review wieder gelten lassen',
  Dismiss: 'Verwerfen',
  'Dismiss the review of {who}': 'Review von {who} verwerfen',
  'Dismiss the review': 'Review verwerfen',
  'A dismissed review does not count. Everybody sees the reason.':
    'Ein verworfenes Review zählt nicht. Alle sehen den Grund.',
  'Delete the review': 'Review löschen',
  'The review and its comments are deleted for ever.':
    'Das Review und seine Kommentare werden endgültig gelöscht.',
} satisfies Catalogue
