# The loss that a training run ended with, from its progress.csv; "-" where no loss was written:
#
#   awk -f scripts/last-loss.awk runs/NAME/progress.csv
#
# The mean of train/loss over the last tenth of the updates, not of the rows: rows go on while a
# worker waits (3 s for each member of a barrier that died), and each repeats the loss from before
# the wait. Counted as rows, "the last tenth" of a run that waited for most of its time reaches back
# into the middle of its training. So a row counts only if something was learned since the row before.
BEGIN { FS = "," }
NR == 1 {
  for (i = 1; i <= NF; i++) {
    if ($i == "train/loss") loss = i
    if ($i == "train/updates") updates = i
  }
  if (!loss || !updates) exit
  next
}
$loss != "" && $updates + 0 > learned {
  learned = $updates + 0
  at[n] = learned
  losses[n++] = $loss
}
END {
  for (i = n - 1; i >= 0 && at[i] > 0.9 * learned; i--) {
    sum += losses[i]
    many++
  }
  print many ? sum / many : "-"
}
