"""What delivery must not forget, for whoever delivers and whoever asks: cursors, waiting and given up deliveries."""
